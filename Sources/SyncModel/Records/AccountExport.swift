/// A page of an export of an account.
public struct AccountExportPage: Equatable, Sendable {
  /// The records. A page of an export never has ``ChangesPage/fetched`` lists.
  public var page: ChangesPage
  /// The number of records at the end of the page that changed after the export began. Earlier pages may have them in another version,
  /// and they may be deleted.
  public var late: Int64

  /// Creates a page.
  public init(_ page: ChangesPage, late: Int64) { (self.page, self.late) = (page, late) }
}

extension AccountExportPage: WireMessage {
  /// Parses a page.
  public init(wire: SyncValue) throws(SyncModelError) {
    self.init(try ChangesPage(wire: wire), late: try WireReader(wire).natural("late"))
  }

  /// The page in the wire format.
  public var wire: SyncValue {
    guard case .object(var object) = page.wire else { return page.wire }
    object["late"] = .integer(late)
    return .object(object)
  }
}

/// The records and files of an export of an account, as they are written page by page. The memory grows with the files, and with the
/// records that change during the export, but not with the other records.
public struct AccountExport: Sendable {
  /// A file of an exported record.
  public struct File: Hashable, Sendable {
    /// The UUID of the content.
    public let contentUuid: String
    /// Whether it is the small picture of the file.
    public let isThumbnail: Bool
    /// The key of the file in base64; `nil` for a file that devices do not encrypt.
    public let key: String?
    /// The name in the folder of the export. It contains nothing of a record but the extension.
    public let name: String
  }

  /// A line of NDJSON.
  public struct Line: Equatable, Sendable {
    /// The name of the file.
    public let file: String
    /// The record as a JSON object, without a line break.
    public let text: String
  }

  /// The names of the file and of the record of a line.
  private struct Place: Hashable {
    let file: String
    let uuid: String
  }

  private struct Latest {
    /// The newest version; `nil` for a deleted record.
    let version: Int64?
  }

  private var latest: [Place: Latest] = [:]
  private var filesByName: [String: File] = [:]

  /// Creates an export without records.
  public init() {}

  /// The files, in the order of their names.
  public var files: [File] { filesByName.values.sorted { $0.name < $1.name } }

  /// The files of lines that have superseded lines.
  public var filesToFilter: [String] { Set(latest.keys.map(\.file)).sorted() }

  /// Takes the next page, and returns its lines.
  public mutating func take(_ page: AccountExportPage) -> [Line] {
    let records = page.page.changes
    let firstLate = max(0, records.count - Int(page.late))
    var lines: [Line] = []
    for (index, record) in records.enumerated() {
      if index >= firstLate {
        let place = Place(file: Self.fileName(record.entityType), uuid: record.entityUuid)
        latest[place] = Latest(version: record.state.isDeleted ? nil : record.state.syncVersion)
      }
      if record.state.isDeleted { continue }
      lines.append(Line(file: Self.fileName(record.entityType), text: Self.line(record)))
      addFiles(of: record.state.fields)
    }
    return lines
  }

  /// Whether a line is the newest version of its record, and the record is not deleted.
  /// - Throws: ``SyncModelError`` if the line was not returned by ``take(_:)``.
  public func keeps(_ line: [UInt8], of file: String) throws(SyncModelError) -> Bool {
    let reader = try WireReader(SyncValue(parsing: line))
    let uuid = try reader.text("uuid")
    guard let newest = latest[Place(file: file, uuid: uuid)] else { return true }
    return newest.version == (try reader.natural("syncVersion"))
  }

  /// The record with the names of its columns, as a device exports it.
  private static func line(_ record: RemoteRecord) -> String {
    var object = record.state.fields
    object["uuid"] = .text(record.entityUuid)
    object["createdAt"] = .time(record.createdAt)
    object["updatedAt"] = .time(record.state.updatedAt)
    object["syncVersion"] = .integer(record.state.syncVersion)
    return SyncValue.object(object).json
  }

  /// Returns the name of the file with the records of an entity. Characters that a file system may not have are replaced.
  package static func fileName(_ entityType: String) -> String {
    let isPlain = { (byte: UInt8) in
      (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte) || byte == 0x5F
    }
    let text = entityType.utf8.map { byte in
      isPlain(byte) ? String(UnicodeScalar(byte)) : "-" + String(byte, radix: 16)
    }.joined()
    return text + ".ndjson"
  }

  private mutating func addFiles(of fields: SyncObject) {
    guard let names = FileNames(of: fields) else { return }
    let key = fields.text("contentKey")
    for (name, isThumbnail) in [(names.full, false), (names.thumbnail, true)] {
      filesByName[name] = File(contentUuid: names.contentUuid, isThumbnail: isThumbnail, key: key, name: name)
    }
  }

  /// A server that is mistaken must not choose a path.
  fileprivate static func isUUID(_ text: String) -> Bool {
    text.utf8.count == 36
      && text.utf8.allSatisfy { (0x30...0x39).contains($0) || (0x61...0x66).contains($0) || $0 == 0x2D }
  }

  /// Returns the extension of a file name with its point, if it is short and plain.
  fileprivate static func ending(_ name: String) -> String? {
    let parts = name.split(separator: ".", omittingEmptySubsequences: false)
    guard parts.count > 1, let last = parts.last, (1...10).contains(last.utf8.count),
      last.utf8.allSatisfy({ (0x30...0x39).contains($0) || (0x41...0x5A).contains($0) || (0x61...0x7A).contains($0) })
    else { return nil }
    return "." + last.lowercased()
  }
}

extension AccountExport {
  /// The names of the files of a record in the folder of files. They contain nothing of the record but the extension.
  package struct FileNames: Equatable, Sendable {
    /// The UUID of the content.
    package let contentUuid: String
    /// The name of the file.
    package let full: String
    /// The name of its small picture.
    package var thumbnail: String { contentUuid + ".thumbnail.jpg" }

    /// Returns `nil` for a record without a content.
    package init?(of fields: SyncObject) {
      guard let content = fields.text("contentUuid"), AccountExport.isUUID(content) else { return nil }
      contentUuid = content
      full = content + (fields.text("fileName").flatMap(AccountExport.ending) ?? "")
    }
  }
}
