// gdk-pixbuf, with wrappers for signals, macros and functions with a variable number of arguments, which Swift cannot
// call.
#ifndef CPIXBUF_H
#define CPIXBUF_H

#include <string.h>

#include "gdkpixbuf.h"

// Decides about a picture when its size is known and before memory is allocated for it. Returns 0 to continue with the
// size to which the picture is scaled while it is read, and any other value to refuse it.
typedef int (*cpixbuf_decide)(void *context, int width, int height, int *target_width, int *target_height);

typedef struct {
  GdkPixbufLoader *loader;
  cpixbuf_decide decide;
  void *context;
  int is_refused;
} cpixbuf_decoder;

static inline void cpixbuf_size_prepared(GdkPixbufLoader *loader, int width, int height, void *data) {
  cpixbuf_decoder *decoder = (cpixbuf_decoder *)data;
  int target_width = width, target_height = height;
  if (decoder->decide(decoder->context, width, height, &target_width, &target_height)) {
    decoder->is_refused = 1;
    // A picture without pixels. Loaders then fail without allocating memory.
    target_width = target_height = 0;
  }
  if (target_width != width || target_height != height) gdk_pixbuf_loader_set_size(loader, target_width, target_height);
}

// Begins to read a picture of a kind by its name in gdk-pixbuf. The decoder must not move in memory. Returns 0 if this
// machine cannot read the kind.
static inline int cpixbuf_begin(cpixbuf_decoder *decoder, const char *kind, cpixbuf_decide decide, void *context) {
  decoder->loader = gdk_pixbuf_loader_new_with_type(kind, NULL);
  decoder->decide = decide;
  decoder->context = context;
  decoder->is_refused = 0;
  if (!decoder->loader) return 0;
  g_signal_connect_data(decoder->loader, "size-prepared", (void (*)(void))cpixbuf_size_prepared, decoder, NULL, 0);
  return 1;
}

// Reads the next bytes. Returns 0 if the picture is refused or damaged.
static inline int cpixbuf_feed(cpixbuf_decoder *decoder, const void *bytes, size_t count) {
  return gdk_pixbuf_loader_write(decoder->loader, (const unsigned char *)bytes, count, NULL) && !decoder->is_refused;
}

// Ends reading. Must be called after a failure too. Returns the picture, which the caller owns; NULL if it is
// incomplete.
static inline GdkPixbuf *cpixbuf_end(cpixbuf_decoder *decoder, int is_whole) {
  int closed = gdk_pixbuf_loader_close(decoder->loader, NULL);
  GdkPixbuf *picture = NULL;
  if (is_whole && closed && !decoder->is_refused) picture = gdk_pixbuf_loader_get_pixbuf(decoder->loader);
  if (picture) g_object_ref(picture);
  g_object_unref(decoder->loader);
  decoder->loader = NULL;
  return picture;
}

static inline void cpixbuf_release(GdkPixbuf *picture) { g_object_unref(picture); }

// Returns the picture turned upright, for an EXIF orientation of 1 to 8. The caller owns the new reference.
static inline GdkPixbuf *cpixbuf_upright(GdkPixbuf *picture, int orientation) {
  static const GdkPixbufRotation rotations[9] = {
      CPIXBUF_UNTURNED,    CPIXBUF_UNTURNED,  CPIXBUF_UNTURNED,  CPIXBUF_UPSIDE_DOWN,
      CPIXBUF_UPSIDE_DOWN, CPIXBUF_CLOCKWISE, CPIXBUF_CLOCKWISE, CPIXBUF_COUNTERCLOCKWISE,
      CPIXBUF_COUNTERCLOCKWISE};
  // The orientations 2, 4, 5 and 7 are mirrored.
  int is_mirrored = orientation == 2 || orientation == 4 || orientation == 5 || orientation == 7;
  if (orientation < 2 || orientation > 8) return (GdkPixbuf *)g_object_ref(picture);
  GdkPixbuf *turned = gdk_pixbuf_rotate_simple(picture, rotations[orientation]);
  if (!turned || !is_mirrored) return turned;
  GdkPixbuf *flipped = gdk_pixbuf_flip(turned, 1);
  g_object_unref(turned);
  return flipped;
}

// Returns the picture in another size. Transparent parts become white, because JPEG has no transparency. Returns NULL
// if memory is exhausted.
static inline GdkPixbuf *cpixbuf_opaque(GdkPixbuf *picture, int width, int height) {
  if (gdk_pixbuf_get_has_alpha(picture))
    return gdk_pixbuf_composite_color_simple(picture, width, height, CPIXBUF_BILINEAR, 255, 16, 0xffffff, 0xffffff);
  return gdk_pixbuf_scale_simple(picture, width, height, CPIXBUF_BILINEAR);
}

// Returns the orientation, 1 to 8, that the loader did not apply.
static inline int cpixbuf_orientation(GdkPixbuf *picture) {
  const char *text = gdk_pixbuf_get_option(picture, "orientation");
  return text && text[0] >= '1' && text[0] <= '8' && !text[1] ? text[0] - '0' : 1;
}

// Returns the colour profile of the decoded picture in base64, up to a number of characters. The picture owns it.
// Returns NULL without a profile, or if it is not a profile of RGB values: the loaders convert CMYK and grey to RGB.
static inline const char *cpixbuf_rgb_profile(GdkPixbuf *picture, size_t longest) {
  const char *text = gdk_pixbuf_get_option(picture, "icc-profile");
  if (!text || strlen(text) > longest) return NULL;
  size_t size = 0;
  unsigned char *bytes = g_base64_decode(text, &size);
  // The colour space of the data is in bytes 16 to 19 of the header (ICC.1:2022, section 7.2.8).
  int is_rgb = size >= 128 && memcmp(bytes + 16, "RGB ", 4) == 0;
  g_free(bytes);
  return is_rgb ? text : NULL;
}

// Returns the picture as JPEG, optionally with a colour profile in base64. The caller frees it with g_free. Returns
// NULL if memory is exhausted.
static inline char *cpixbuf_jpeg(GdkPixbuf *picture, const char *quality, const char *profile, size_t *count) {
  char *bytes = NULL;
  size_t size = 0;
  // The list of options ends at the first NULL.
  if (!gdk_pixbuf_save_to_buffer(
          picture, &bytes, &size, "jpeg", NULL, "quality", quality, profile ? "icc-profile" : NULL, profile, NULL))
    return NULL;
  *count = size;
  return bytes;
}

#endif
