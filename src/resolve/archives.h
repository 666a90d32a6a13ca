/* SPDX-License-Identifier: MIT */
/* Mappings of archives: Android maps libraries from inside an APK, and the maps name the APK. */
#ifndef CAIRN_RESOLVE_ARCHIVES_H
#define CAIRN_RESOLVE_ARCHIVES_H

#include "resolve/address_space.h"

/* Regions of an archive (.apk, .zip, .jar, .apex) become regions of the file that is stored where
 * they were mapped from: "base.apk" at 0x5000 becomes "base.apk!/lib/arm64-v8a/libx.so" at 0x1000.
 * Where the archive is not at hand they stay. Only lack of memory fails. */
int cairn_archives_enter(struct cairn_address_space *space, struct cairn_modules *modules,
                         struct cairn_err *err);

#endif /* CAIRN_RESOLVE_ARCHIVES_H */
