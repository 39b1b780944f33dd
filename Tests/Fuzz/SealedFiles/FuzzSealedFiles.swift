import FuzzSupport
import VaultKeys

@testable import SealedFiles

/// A sealed file gives its content back, and a changed one is refused with a `SealedFileError`. The input is the size of the
/// content (two bytes), a number of changes (one byte), the changes (place, two bytes, and the number added to the byte there), and
/// the bytes after the end. With a size of FF FF the rest is the file itself.
@main
enum FuzzSealedFiles: FuzzTarget {
  static func run(_ bytes: [UInt8]) {
    var input = FuzzInput(bytes)
    let size = input.number(bytes: 2)
    checkSizes(input.number(bytes: 7) & (1 << 56 - 1))
    guard size != 0xffff else { return readForeign(input.rest()) }
    do {
      let original = try sealed(content(size))
      var file = original
      for _ in 0..<(input.byte() & 7) {
        let place = input.number(bytes: 2)
        let change = input.byte()
        if place < file.count { file[place] &+= change } else { file.removeLast(min(file.count, place - file.count)) }
      }
      file += input.rest()
      check(file, isOriginal: file == original, content(size))
    } catch {
      fatalError("sealing: \(error)")
    }
  }

  /// A file of an attacker without the key and without sealed files.
  private static func readForeign(_ file: [UInt8]) { check(file, isOriginal: false, []) }

  private static func check(_ file: [UInt8], isOriginal: Bool, _ content: [UInt8]) {
    let path = scratch.write(file, to: "sealed")
    defer { scratch.remove("sealed") }
    do throws(SealedFileError) {
      let reader = try SealedFileReader(path, key: key, identity: identity)
      let read = try reader.read(0..<reader.byteCount)
      require(isOriginal, "a changed file does not open")
      require(read == content, "the content comes back")
      let middle = content.count / 2
      require(try reader.read(middle..<content.count) == Array(content[middle...]), "a range comes back")
    } catch {
      require(!isOriginal, "an unchanged file opens: \(error)")
      require(!error.message.isEmpty && !error.hint.isEmpty, "a refusal has a reason and a remedy")
    }
    resume(path, file)
  }

  /// Resuming keeps whole segments that were sealed with the key, which a small file does not have.
  private static func resume(_ path: String, _ file: [UInt8]) {
    do throws(SealedFileError) {
      let writer = try SealedFileWriter.resume(path, key: key, identity: identity)
      require(writer.plainBytes <= file.count, "nothing is made up")
      writer.abandon()
    } catch {
      require(!error.message.isEmpty && !error.hint.isEmpty, "a refusal has a reason and a remedy")
    }
  }

  /// The size of a content and that of its file determine each other.
  private static func checkSizes(_ size: Int) {
    require(SealedFileFormat.plainSize(ofSealed: SealedFileFormat.sealedSize(ofPlain: size)) == size, "size \(size)")
    if let plain = SealedFileFormat.plainSize(ofSealed: size) {
      require(SealedFileFormat.sealedSize(ofPlain: plain) == size, "sealed size \(size)")
    }
  }

  private static func sealed(_ content: [UInt8]) throws -> [UInt8] {
    scratch.remove("new")
    let writer = try SealedFileWriter(creating: scratch.path + "/new", key: key, identity: identity)
    try content.withUnsafeBytes { try writer.append($0) }
    _ = try writer.finish()
    return scratch.content(of: "new")
  }

  private static func content(_ size: Int) -> [UInt8] { (0..<size).map { UInt8(truncatingIfNeeded: $0 * 7) } }

  private static let scratch = ScratchFolder()
  private static let (key, identity): (SealingKey, SealedFileIdentity) = {
    var bytes = [UInt8](repeating: 7, count: SealingKey.byteCount)
    do throws(SealedFileError) {
      return (
        try SealingKey(wiping: &bytes),
        try SealedFileIdentity(contentUuid: "01a20637-d8ce-7000-869c-dbf29d3f7743", variant: .full)
      )
    } catch {
      fatalError("\(error)")
    }
  }()
}
