# SPDX-License-Identifier: MIT
"""A repository in an object store: a real S3 server in this process, and devices that pull."""

import json

import capsule_cases as cases
import pytest

from acclimate.pull import Client
from acclimate_host.capsules.prune import prune
from acclimate_host.capsules.repository import Repository
from acclimate_host.cli import main
from acclimate_host.errors import Refused

pytest.importorskip("boto3")
server = pytest.importorskip("moto.server")
from acclimate_host.capsules.object_store import mirror  # noqa: E402


@pytest.fixture(scope="module")
def endpoint():
    running = server.ThreadedMotoServer(ip_address="127.0.0.1", port=0)
    running.start()
    host, port = running.get_host_and_port()
    yield f"http://{host}:{port}"
    running.stop()


@pytest.fixture
def bucket(endpoint, monkeypatch, request):
    """An empty bucket; (its client, its name)."""
    import boto3

    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "test")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    client, name = boto3.client("s3", endpoint_url=endpoint), f"b{abs(hash(request.node.name))}"
    client.create_bucket(Bucket=name)
    everybody = {"Effect": "Allow", "Principal": "*", "Action": "s3:GetObject"}
    everybody["Resource"] = f"arn:aws:s3:::{name}/*"
    policy = {"Version": "2012-10-17", "Statement": [everybody]}
    client.put_bucket_policy(Bucket=name, Policy=json.dumps(policy))
    return client, name


@pytest.fixture
def repository(tmp_path):
    made = Repository(tmp_path / "repository", cases.KEY)
    made.publish(cases.capsule(1))
    return made


def pulled(store, endpoint, name, below="/fleet"):
    client = Client(store, f"{endpoint}/{name}{below}", wait_s=0)
    if client.pull():
        store.confirm()
    return client.reason


def test_devices_pull_from_the_object_store(repository, endpoint, bucket):
    client, name = bucket
    assert mirror(repository.folder, f"s3://{name}/fleet", endpoint)["sent"] == 2
    store = cases.store(cases.flash())
    assert pulled(store, endpoint, name) == "" and store.head.version == 1
    repository.publish(cases.capsule(2, cases.tuned(cases.weights(700, 1), 3)))
    counts = mirror(repository.folder, f"s3://{name}/fleet", endpoint)
    assert counts["kept"] == 1 and counts["sent"] >= 2  # the first capsule stays
    assert pulled(store, endpoint, name) == "" and store.head.version == 2
    assert pulled(store, endpoint, name) == "current"


def test_a_manifest_is_sent_after_what_it_names(repository, endpoint, bucket, monkeypatch):
    client, name = bucket
    sent = []
    from acclimate_host.capsules import object_store

    real = object_store._client(endpoint)[0]

    class Noting:
        def put_object(self, **what):
            sent.append((what["Key"], what["CacheControl"]))
            return real.put_object(**what)

        def __getattr__(self, attribute):
            return getattr(real, attribute)

    monkeypatch.setattr(object_store, "_client", lambda _: (Noting(), (OSError,)))
    mirror(repository.folder, f"s3://{name}", endpoint)
    assert [key.split("/")[0] for key, _ in sent] == ["objects", "models"]
    assert "immutable" in sent[0][1] and sent[1][1] == "no-cache"


def test_what_the_repository_dropped_goes_only_when_asked(repository, endpoint, bucket):
    client, name = bucket
    url = f"s3://{name}/fleet"
    for version in (2, 3, 4):
        repository.publish(cases.capsule(version, cases.weights(700, version)))
    client.put_object(Bucket=name, Key="of/somebody/else", Body=b"x")
    mirror(repository.folder, url, endpoint)
    assert prune(repository.folder, kept=0)[0] > 0
    assert mirror(repository.folder, url, endpoint)["removed"] == 0
    assert mirror(repository.folder, url, endpoint, prune=True)["removed"] > 0
    left = {found["Key"] for found in client.list_objects_v2(Bucket=name)["Contents"]}
    wanted = {f"fleet/objects/{path.name}" for path in (repository.folder / "objects").iterdir()}
    assert left == wanted | {"fleet/models/7/all.man", "of/somebody/else"}


def test_a_damaged_copy_is_sent_again(repository, endpoint, bucket):
    client, name = bucket
    mirror(repository.folder, f"s3://{name}", endpoint)
    client.put_object(Bucket=name, Key="models/7/all.man", Body=b"damaged")
    assert mirror(repository.folder, f"s3://{name}", endpoint)["sent"] == 1


def test_a_repository_that_lacks_an_object_is_not_mirrored(repository, endpoint, bucket):
    client, name = bucket
    next((repository.folder / "objects").iterdir()).unlink()
    with pytest.raises(Refused, match="is not there"):
        mirror(repository.folder, f"s3://{name}", endpoint)
    assert "Contents" not in client.list_objects_v2(Bucket=name)


def test_a_damaged_object_is_not_mirrored(repository, endpoint, bucket):
    client, name = bucket
    path = next((repository.folder / "objects").iterdir())
    path.write_bytes(path.read_bytes()[:-1])  # caches would keep it for ever
    with pytest.raises(Refused, match=f"{path.name}: damaged"):
        mirror(repository.folder, f"s3://{name}", endpoint)
    assert "Contents" not in client.list_objects_v2(Bucket=name)


def test_a_file_beside_the_objects_that_is_none_is_left_out(repository, endpoint, bucket):
    client, name = bucket
    (repository.folder / "objects" / "notes.txt").write_text("mine")
    mirror(repository.folder, f"s3://{name}", endpoint)
    sent = [found["Key"] for found in client.list_objects_v2(Bucket=name)["Contents"]]
    assert sent and not any("notes" in key for key in sent)


def test_who_publishes_or_prunes_meanwhile_is_mirrored_the_next_time(
    repository, endpoint, bucket, monkeypatch
):
    client, name = bucket
    from acclimate_host.capsules import object_store

    listed, then = object_store._listed, []

    def busy(*arguments):
        then.pop()()
        return listed(*arguments)

    monkeypatch.setattr(object_store, "_listed", busy)
    then.append(lambda: repository.publish(cases.capsule(2, cases.weights(700, 2))))
    assert mirror(repository.folder, f"s3://{name}", endpoint)["sent"] == 2
    store = cases.store(cases.flash())
    assert pulled(store, endpoint, name, "") == "" and store.head.version == 1
    then.append(lambda: next((repository.folder / "objects").iterdir()).unlink())
    with pytest.raises(Refused, match="was removed meanwhile: mirror again"):
        mirror(repository.folder, f"s3://{name}", endpoint)


def test_who_publishes_is_waited_for(repository, endpoint, bucket, monkeypatch):
    _, name = bucket
    from acclimate_host.capsules import object_store

    held, locked = [], object_store.locked

    def noted(path):
        held.append(path)
        return locked(path)

    monkeypatch.setattr(object_store, "locked", noted)
    mirror(repository.folder, f"s3://{name}", endpoint)
    assert held == [repository.folder / ".lock"]
    monkeypatch.setattr(object_store.os, "access", lambda *_: False)  # a folder to read only
    assert mirror(repository.folder, f"s3://{name}", endpoint)["kept"] == 2 and len(held) == 1


def test_the_command_counts_and_names_what_is_wrong(repository, endpoint, bucket, capsys):
    _, name = bucket
    folder = str(repository.folder)
    assert main(["mirror", folder, f"s3://{name}", "--endpoint", endpoint]) == 0
    assert "2 files sent" in capsys.readouterr().out
    assert main(["mirror", folder, "s3://no-such-bucket", "--endpoint", endpoint]) != 0
    assert "NoSuchBucket" in capsys.readouterr().err
    assert main(["mirror", folder, "http://elsewhere"]) != 0
    assert "expected s3://BUCKET" in capsys.readouterr().err
