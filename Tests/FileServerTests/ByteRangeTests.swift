import Testing

@testable import FileServer

/// The header `Range` of a request.
@Suite struct ByteRangeTests {
  @Test(
    "A Range header is read as RFC 9110 defines",
    arguments: [
      ("bytes=0-0", "0-0"), ("bytes=0-", "0-999"), ("bytes=10-19", "10-19"), ("bytes=-1", "999-999"),
      ("bytes=-1000", "0-999"), ("bytes=-5000", "0-999"), ("bytes=999-", "999-999"), ("bytes=500-99999", "500-999"),
      ("BYTES=1-2", "1-2"), ("bytes=0-9223372036854775807", "0-999"), ("bytes=5-99999999999999999999999", "5-999"),
      ("bytes=1000-", "none"), ("bytes=-0", "none"), ("bytes=99999999999999999999-", "none"),
      ("bytes=0-1,5-6", "whole"), ("bytes=", "whole"), ("bytes=-", "whole"), ("bytes=5-4", "whole"),
      ("bytes=a-b", "whole"), ("bytes=--5", "whole"), ("bytes= 1-2", "whole"), ("lines=1-2", "whole"), ("", "whole"),
      ("bytes=1-2-3", "whole"), ("bytes", "whole"),
    ])
  func ranges(_ text: String, _ meant: String) {
    let expected: ByteRange =
      switch meant {
      case "whole": .whole
      case "none": .unsatisfiable
      default:
        {
          let bounds = meant.split(separator: "-").compactMap { Int64($0) }
          return .part(bounds[0]..<bounds[1] + 1)
        }()
      }
    #expect(ByteRange(text, of: 1_000) == expected)
    if meant != "whole" { #expect(ByteRange(text, of: 0) == .unsatisfiable) }
  }
}
