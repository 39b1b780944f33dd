import BenchmarkFloor
import CipherSQL
import Foundation

/// The C side.
final class Floor {
  let handle: OpaquePointer
  private var notes: [UnsafeMutablePointer<CChar>] = []

  struct Failure: Error, CustomStringConvertible {
    let description: String
  }

  init(path: String, key: [UInt8], cacheKiB: Int, isReader: Bool = false) throws {
    let text = "x'" + key.map { String(format: "%02x", $0) }.joined() + "'"
    guard let opened = floor_open(path, text, Int32(cacheKiB), isReader ? 1 : 0) else {
      throw Failure(description: "the C floor cannot open \(path)")
    }
    handle = opened
  }

  deinit {
    floor_close(handle)
    notes.forEach { free($0) }
  }

  func check(_ result: Int32) throws {
    guard result == 0 else { throw Failure(description: "the C floor failed: " + String(cString: floor_error(handle))) }
  }

  /// The same readings as C structures, made before anything is measured.
  func converted(_ readings: [Reading]) -> [floor_reading] {
    readings.map { reading in
      var result = floor_reading()
      result.readingId = reading.readingId
      withUnsafeMutableBytes(of: &result.uuid) { target in
        withUnsafeBytes(of: reading.uuid.uuid) { target.copyMemory(from: $0) }
      }
      result.projectId = reading.projectId
      result.date = reading.date.timeIntervalSince1970
      result.relativeHumidity = reading.relativeHumidity
      result.temperature = reading.temperature
      result.dewPoint = reading.dewPoint ?? 0
      result.hasDewPoint = reading.dewPoint == nil ? 0 : 1
      if let note = reading.note, let copy = strdup(note) {
        notes.append(copy)
        result.note = UnsafePointer(copy)
        result.noteLength = Int32(note.utf8.count)
      }
      result.isDeleted = reading.isDeleted ? 1 : 0
      result.createdAt = reading.createdAt.timeIntervalSince1970
      result.updatedAt = reading.updatedAt.timeIntervalSince1970
      return result
    }
  }
}
