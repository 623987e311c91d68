/* SPDX-License-Identifier: MIT
 * Which instructions a module has: NET_PREDICT, NET_TRAIN and NET_RARE are modules of one kind,
 * NET_SMALL of all but the rare ones; without any of these it has them all. */
#ifndef NET_HAS_H
#define NET_HAS_H

#if defined(NET_PREDICT) || defined(NET_TRAIN) || defined(NET_RARE)
#define NET_ONE_KIND 1
#else
#define NET_ONE_KIND 0
#endif
#if defined(NET_PREDICT) || !NET_ONE_KIND
#define NET_HAS_FORWARD 1
#else
#define NET_HAS_FORWARD 0
#endif
#if defined(NET_TRAIN) || !NET_ONE_KIND
#define NET_HAS_TRAINING 1
#else
#define NET_HAS_TRAINING 0
#endif
#if defined(NET_RARE) || (!NET_ONE_KIND && !defined(NET_SMALL))
#define NET_HAS_RARE 1
#else
#define NET_HAS_RARE 0
#endif

#endif
