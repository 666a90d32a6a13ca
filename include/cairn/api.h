/* SPDX-License-Identifier: MIT */
/* What marks a symbol as part of the public interface; everything else in the library is hidden. */
#ifndef CAIRN_API_H
#define CAIRN_API_H

#define CAIRN_API __attribute__((visibility("default")))

#endif /* CAIRN_API_H */
