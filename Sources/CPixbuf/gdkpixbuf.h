// The used declarations of gdk-pixbuf and GLib, as in their headers.
//
// Their own headers need the flags of pkg-config, among them -pthread, which SwiftPM refuses with a warning in every
// package that depends on this one. A test compiles these declarations together with the original headers.
#ifndef GDKPIXBUF_DECLARATIONS_H
#define GDKPIXBUF_DECLARATIONS_H

#include <stddef.h>
#include <stdint.h>

typedef struct _GdkPixbuf GdkPixbuf;
typedef struct _GdkPixbufLoader GdkPixbufLoader;
typedef struct _GError GError;
typedef struct _GClosure GClosure;

#ifndef GDK_PIXBUF_H
typedef unsigned int GdkPixbufRotation;
typedef unsigned int GdkInterpType;
typedef unsigned int GConnectFlags;
#endif

// Values of GdkPixbufRotation, degrees counterclockwise.
#define CPIXBUF_UNTURNED 0
#define CPIXBUF_COUNTERCLOCKWISE 90
#define CPIXBUF_UPSIDE_DOWN 180
#define CPIXBUF_CLOCKWISE 270
// A value of GdkInterpType.
#define CPIXBUF_BILINEAR 2

GdkPixbufLoader *gdk_pixbuf_loader_new_with_type(const char *image_type, GError **error);
void gdk_pixbuf_loader_set_size(GdkPixbufLoader *loader, int width, int height);
int gdk_pixbuf_loader_write(GdkPixbufLoader *loader, const unsigned char *buf, size_t count, GError **error);
int gdk_pixbuf_loader_close(GdkPixbufLoader *loader, GError **error);
GdkPixbuf *gdk_pixbuf_loader_get_pixbuf(GdkPixbufLoader *loader);

int gdk_pixbuf_get_width(const GdkPixbuf *pixbuf);
int gdk_pixbuf_get_height(const GdkPixbuf *pixbuf);
int gdk_pixbuf_get_has_alpha(const GdkPixbuf *pixbuf);
const char *gdk_pixbuf_get_option(GdkPixbuf *pixbuf, const char *key);
GdkPixbuf *gdk_pixbuf_rotate_simple(const GdkPixbuf *src, GdkPixbufRotation angle);
GdkPixbuf *gdk_pixbuf_flip(const GdkPixbuf *src, int horizontal);
GdkPixbuf *gdk_pixbuf_scale_simple(const GdkPixbuf *src, int dest_width, int dest_height, GdkInterpType interp_type);
GdkPixbuf *gdk_pixbuf_composite_color_simple(
    const GdkPixbuf *src, int dest_width, int dest_height, GdkInterpType interp_type, int overall_alpha, int check_size,
    uint32_t color1, uint32_t color2);
int gdk_pixbuf_save_to_buffer(
    GdkPixbuf *pixbuf, char **buffer, size_t *buffer_size, const char *type, GError **error, ...);

unsigned long g_signal_connect_data(
    void *instance, const char *detailed_signal, void (*c_handler)(void), void *data,
    void (*destroy_data)(void *data, GClosure *closure), GConnectFlags connect_flags);
void *(g_object_ref)(void *object);
void (g_object_unref)(void *object);
unsigned char *g_base64_decode(const char *text, size_t *out_len);
void (g_free)(void *mem);

#endif
