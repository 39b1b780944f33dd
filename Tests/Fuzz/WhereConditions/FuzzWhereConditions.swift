import CipherSQL
import FuzzStore
import FuzzSupport
import VaultStore

/// The condition of `list --where` selects records or is refused. It changes nothing and reads no other table.
@main
enum FuzzWhereConditions: FuzzTarget {
  static func run(_ bytes: [UInt8]) {
    // A few bytes are enough for an expression that takes for ever.
    guard bytes.count <= 200 else { return }
    var selection = RecordSelection()
    selection.condition = String(decoding: bytes, as: UTF8.self)
    do {
      try store.database.read { connection in
        var count = 0
        try RecordReader(connection).forEach(store.entity, selection) { _ in count += 1 }
        require(count <= 2, "a condition adds no records")
      }
    } catch is VaultError {
    } catch is SQLError {
    } catch {
      fatalError("a condition fails with another error: \(error)")
    }
  }
}

private let store = FuzzRecords()
