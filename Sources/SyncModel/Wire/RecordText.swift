/// A record of the server whose fields are stored JSON. A page passes them on without reading the values.
public struct RecordText: Sendable {
  /// The record without its fields.
  public var record: RemoteRecord
  /// The fields, a JSON object in the form of ``SyncValue/json``. Names may be absent.
  package let fields: String
  /// The names of the fields that the record has on the wire.
  package var names: MemberNames

  /// Creates a record.
  package init(record: RemoteRecord, fields: String, names: MemberNames = MemberNames([])) {
    (self.record, self.fields, self.names) = (record, fields, names)
  }

  /// Returns the record with its fields.
  /// - Throws: ``SyncModelError`` if the stored fields are damaged.
  public func complete() throws(SyncModelError) -> RemoteRecord {
    var writer = JSONWriter(isCanonical: false)
    try write(to: &writer)
    return try RemoteRecord(json: writer.bytes)
  }

  fileprivate func write(to writer: inout JSONWriter) throws(SyncModelError) {
    try writer.write(record.wire, replacing: "fields") { writer throws(SyncModelError) in
      try names.write(fields, to: &writer)
    }
  }
}

extension ChangesPage {
  /// Returns the page in the wire format, as ``wire`` describes it.
  /// - Parameter records: the changes, in place of ``changes``.
  /// - Throws: ``SyncModelError`` if the stored fields of a record are damaged.
  public func json(with records: [RecordText]) throws(SyncModelError) -> [UInt8] { try wire.json(with: records) }
}

extension AccountExportPage {
  /// Returns the page in the wire format, as ``wire`` describes it.
  /// - Parameter records: the changes, in place of those of ``page``.
  /// - Throws: ``SyncModelError`` if the stored fields of a record are damaged.
  public func json(with records: [RecordText]) throws(SyncModelError) -> [UInt8] { try wire.json(with: records) }
}

extension SyncValue {
  /// Returns a page with other changes.
  fileprivate func json(with records: [RecordText]) throws(SyncModelError) -> [UInt8] {
    var writer = JSONWriter(isCanonical: false)
    writer.reserve(records.reduce(400) { $0 + $1.fields.utf8.count + 400 })
    try writer.write(self, replacing: "changes") { writer throws(SyncModelError) in
      try writer.write(records) { record, writer throws(SyncModelError) in try record.write(to: &writer) }
    }
    return writer.bytes
  }
}

/// The names of the members that an object has on the wire.
package struct MemberNames: Sendable {
  /// Each name as JSON with its colon.
  private let names: [[UInt8]]

  /// - Parameter names: distinct names in the order of ``SyncObject``.
  package init(_ names: [String]) {
    self.names = names.map { name in
      var writer = JSONWriter(isCanonical: false)
      writer.write(.text(name))
      return writer.bytes + [UInt8(ascii: ":")]
    }
  }

  /// Writes an object with `null` for each absent name, and without other names. Costs one pass over the bytes.
  /// - Parameter json: an object in the form of ``SyncValue/json``.
  /// - Throws: ``SyncModelError`` if the text is no such object.
  func write(_ json: String, to writer: inout JSONWriter) throws(SyncModelError) {
    var json = json
    var failure: SyncModelError?
    json.withUTF8 { text in
      do throws(SyncModelError) {
        var scanner = MemberScanner(text)
        var list = MemberList(&writer)
        var next = 0
        while let member = try scanner.next() {
          // Both have one order, so the names before the found one are absent.
          guard let index = names[next...].firstIndex(where: { $0.elementsEqual(member.name) }) else { continue }
          for absent in names[next..<index] { list.put(absent, Self.null, &writer) }
          list.put(member.name, member.value, &writer)
          next = index + 1
        }
        for absent in names[next...] { list.put(absent, Self.null, &writer) }
        list.end(&writer)
      } catch {
        failure = error
      }
    }
    if let failure { throw failure }
  }

  private static let null = Array("null".utf8)
}

/// The members of an object that is being written.
private struct MemberList {
  private var isEmpty = true

  init(_ writer: inout JSONWriter) { writer.put(byte: "{") }

  mutating func put(_ name: some Collection<UInt8>, _ value: some Collection<UInt8>, _ writer: inout JSONWriter) {
    if !isEmpty { writer.put(byte: ",") }
    isEmpty = false
    writer.put(name)
    writer.put(value)
  }

  func end(_ writer: inout JSONWriter) { writer.put(byte: "}") }
}

/// Finds the members of an object without reading their values. The text has the form of ``SyncValue/json``, which has no spaces.
private struct MemberScanner {
  typealias Text = UnsafeBufferPointer<UInt8>
  private let text: Text
  private var index = 0

  init(_ text: Text) { self.text = text }

  /// Returns the next member, its name with quotation marks and colon; `nil` after the last one.
  mutating func next() throws(SyncModelError) -> (name: Slice<Text>, value: Slice<Text>)? {
    let isFirst = index == 0
    if isFirst { try expect("{") }
    if try take("}") {
      guard index == text.count else { throw damage }
      return nil
    }
    if !isFirst { try expect(",") }
    let start = index
    try string()
    try expect(":")
    let colon = index
    try value()
    return (text[start..<colon], text[colon..<index])
  }

  private mutating func string() throws(SyncModelError) {
    try expect("\"")
    while index < text.count {
      switch text[index] {
      case UInt8(ascii: "\\"): index += 2
      case UInt8(ascii: "\""):
        index += 1
        return
      default: index += 1
      }
    }
    throw damage
  }

  /// Passes over a value up to the comma or bracket behind it.
  private mutating func value() throws(SyncModelError) {
    let start = index
    var depth = 0
    while index < text.count {
      switch text[index] {
      case UInt8(ascii: "\""):
        try string()
        continue
      case UInt8(ascii: "{"), UInt8(ascii: "["): depth += 1
      case UInt8(ascii: "}"), UInt8(ascii: "]"):
        if depth == 0 {
          guard index > start else { throw damage }
          return
        }
        depth -= 1
      case UInt8(ascii: ","):
        if depth == 0, index > start { return }
      default: break
      }
      index += 1
    }
    throw damage
  }

  private mutating func take(_ character: Unicode.Scalar) throws(SyncModelError) -> Bool {
    guard index < text.count else { throw damage }
    guard text[index] == UInt8(ascii: character) else { return false }
    index += 1
    return true
  }

  private mutating func expect(_ character: Unicode.Scalar) throws(SyncModelError) {
    guard try take(character) else { throw damage }
  }

  private var damage: SyncModelError {
    SyncModelError(.syntax, "the stored fields are no JSON object", byteOffset: index)
  }
}
