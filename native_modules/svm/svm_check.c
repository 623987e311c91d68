/* SPDX-License-Identifier: MIT
 * Length, checksum and header of a model file in memory. */
#include "svm_read.h"

static uint32_t crc32(const uint8_t *at, uint32_t bytes) {
    uint32_t crc = 0xffffffff;
    while (bytes--) {
        crc ^= *at++;
        for (int32_t k = 0; k < 8; k++) {
            crc = crc >> 1 ^ (0xedb88320 & (0 - (crc & 1)));
        }
    }
    return ~crc;
}

int32_t svm_type_of_code(int32_t code) {
    return code == 'b' ? SVM_INT8 : code == 'B' ? SVM_UINT8
           : code == 'h' ? SVM_INT16 : code == 'f' ? SVM_FLOAT32 : -1;
}

int32_t svm_read_check(const void *data, uint32_t bytes) {
    const svm_file *file = data;
    if (bytes < sizeof(svm_file) || *(const uint32_t *)data != 0x56534341) { /* ACSV */
        return READ_NO_MODEL;
    }
    if (file->version != 1) {
        return READ_VERSION;
    }
    if (file->total != bytes || bytes & 3 || bytes < sizeof(svm_file) + 4) {
        return READ_LENGTH;
    }
    if (crc32(data, bytes - 4) != ((const uint32_t *)data)[(bytes >> 2) - 1]) {
        return READ_DAMAGED;
    }
    if (file->kind > SVM_RBF || svm_type_of_code(file->code) < 0 || !file->d || file->d > 32767
        || file->classes < 2 || (uint32_t)(file->degree - 1) > 8
        /* C is above 0, gamma not below it (0: none was given), and coef0 a number */
        || file->numbers[0] - 1 >= 0x7f7fffff || file->numbers[2] << 1 >= 0xff000000
        || (file->numbers[1] >= 0x7f800000 && file->numbers[1] << 1)
        || (file->flags & READ_FIXED && file->code == 'f')) {
        return READ_VALUES;
    }
    return 0;
}

int32_t svm_pairs(const svm_file *file) {
    return file->classes * (file->classes - 1) >> 1;
}

int32_t svm_row_bytes(const svm_file *file) {
    int32_t type = svm_type_of_code(file->code);
    return file->d << (SVM_IS(type, SVM_FLOAT32) ? 2 : SVM_IS(type, SVM_INT16));
}
