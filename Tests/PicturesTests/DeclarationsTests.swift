import TestSupport

#if os(Linux)
  import Foundation
  import Testing

  /// The declarations of gdk-pixbuf that this package writes down itself, beside the installed headers.
  @Suite struct DeclarationsTests {
    private static let check = """
      #include <gdk-pixbuf/gdk-pixbuf.h>
      #include "gdkpixbuf.h"
      _Static_assert(CPIXBUF_UNTURNED == GDK_PIXBUF_ROTATE_NONE, "unturned");
      _Static_assert(CPIXBUF_COUNTERCLOCKWISE == GDK_PIXBUF_ROTATE_COUNTERCLOCKWISE, "counterclockwise");
      _Static_assert(CPIXBUF_UPSIDE_DOWN == GDK_PIXBUF_ROTATE_UPSIDEDOWN, "upside down");
      _Static_assert(CPIXBUF_CLOCKWISE == GDK_PIXBUF_ROTATE_CLOCKWISE, "clockwise");
      _Static_assert(CPIXBUF_BILINEAR == GDK_INTERP_BILINEAR, "bilinear");

      """

    @Test("They agree with the headers of the library")
    func agreement() throws {
      let sources = packagePath("Sources/CPixbuf")
      #expect(try compile(Self.check, sources) == "")
      // A declaration that differs does not compile.
      let wrong = Self.check + "long gdk_pixbuf_get_width(const GdkPixbuf *pixbuf);\n"
      #expect(try compile(wrong, sources).contains("conflicting types"))
    }

    /// What the compiler says about a C source.
    private func compile(_ source: String, _ folder: String) throws -> String {
      let process = Process()
      process.executableURL = URL(filePath: "/bin/sh")
      process.arguments = [
        "-c", "clang -fsyntax-only -x c $(pkg-config --cflags gdk-pixbuf-2.0) -I \"$0\" - 2>&1", folder,
      ]
      let (input, output) = (Pipe(), Pipe())
      process.standardInput = input
      process.standardOutput = output
      try process.run()
      try input.fileHandleForWriting.write(contentsOf: Data(source.utf8))
      try input.fileHandleForWriting.close()
      let text = try output.fileHandleForReading.readToEnd() ?? Data()
      process.waitUntilExit()
      return String(decoding: text, as: UTF8.self)
    }
  }
#endif
