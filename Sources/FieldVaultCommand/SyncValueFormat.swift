import CommandLineKit
import SyncModel

extension JSONWriter {
  /// Formats a value in the wire format.
  mutating func value(_ value: SyncValue) throws {
    switch value {
    case .null: null()
    case .bool(let flag): self.value(flag)
    case .integer(let number): self.value(number)
    case .real(let real): try self.value(real.number)
    case .number(let number): self.value(jsonNumber: number.text)
    case .text(let text): self.value(text)
    case .array(let elements):
      beginArray()
      for element in elements { try self.value(element) }
      endArray()
    case .object(let object):
      beginObject()
      for member in object.members {
        key(member.name)
        try self.value(member.value)
      }
      endObject()
    }
  }

  /// A key with stored JSON, or `null`.
  mutating func member(_ name: String, json: String?) throws {
    key(name)
    try value(json.map { try SyncValue(parsing: $0) } ?? .null)
  }

  /// A key with an array of texts.
  mutating func member(_ name: String, _ texts: [String]) {
    key(name)
    beginArray()
    for text in texts { value(text) }
    endArray()
  }
}

extension SyncValue {
  /// The value as a cell of a table.
  var cell: String {
    switch self {
    case .null: ""
    case .text(let text): text
    default: json
    }
  }
}
