import CSQLCipher

/// Listens to SQLite's authorizer while a statement is prepared and notes what it will touch.
final class FootprintRecorder {
  private var footprint = Footprint()
  private var isRecording = false

  /// Lives as long as the connection that owns this recorder, so the pointer handed to C stays valid.
  func install(on database: OpaquePointer) {
    sqlite3_set_authorizer(
      database,
      { context, action, first, second, _, _ in
        guard let context else { return SQLITE_OK }
        Unmanaged<FootprintRecorder>.fromOpaque(context).takeUnretainedValue().note(action, first, second)
        return SQLITE_OK
      }, Unmanaged.passUnretained(self).toOpaque())
  }

  func begin() {
    footprint = Footprint()
    isRecording = true
  }

  func end() -> Footprint {
    isRecording = false
    return footprint
  }

  private func note(_ action: Int32, _ first: UnsafePointer<CChar>?, _ second: UnsafePointer<CChar>?) {
    guard isRecording, let first else { return }
    let table = String(cString: first)
    switch action {
    case SQLITE_READ:
      let column = second.map { String(cString: $0) } ?? ""
      footprint.reads[table, default: []].insert(column)
    case SQLITE_UPDATE:
      footprint.updates[table, default: []].insert(second.map { String(cString: $0) } ?? "")
    case SQLITE_INSERT, SQLITE_DELETE:
      footprint.rowChanges.insert(table)
    default:
      break
    }
  }
}
