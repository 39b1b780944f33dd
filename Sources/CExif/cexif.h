// libexif for Swift.
#ifndef CEXIF_H
#define CEXIF_H
#include <libexif/exif-data.h>
#include <libexif/exif-utils.h>
#include <stdlib.h>
#endif
