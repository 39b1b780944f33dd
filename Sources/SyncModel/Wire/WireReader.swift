/// Reads the members of a JSON object with their types. Errors name the wrong member.
struct WireReader {
  let object: SyncObject

  init(_ value: SyncValue) throws(SyncModelError) {
    guard case .object(let object) = value else {
      throw SyncModelError(.wrongMember, "expected a JSON object", member: "")
    }
    self.object = object
  }

  func value(_ name: String) throws(SyncModelError) -> SyncValue {
    guard let value = object[name] else {
      throw SyncModelError(.missingMember, "missing member", member: name)
    }
    return value
  }

  func text(_ name: String) throws(SyncModelError) -> String {
    guard case .text(let text) = try value(name) else { throw wrong(name, "expected a string") }
    return text
  }

  func integer(_ name: String) throws(SyncModelError) -> Int64 {
    guard case .integer(let integer) = try value(name) else { throw wrong(name, "expected an integer") }
    return integer
  }

  /// Reads a count or a version.
  func natural(_ name: String) throws(SyncModelError) -> Int64 {
    let integer = try integer(name)
    guard integer >= 0 else { throw wrong(name, "expected a non-negative integer") }
    return integer
  }

  func serverId(_ name: String) throws(SyncModelError) -> ServerId {
    guard let id = ServerId(try value(name)) else { throw wrong(name, "expected an integer or a string") }
    return id
  }

  func bool(_ name: String) throws(SyncModelError) -> Bool {
    guard case .bool(let flag) = try value(name) else { throw wrong(name, "expected true or false") }
    return flag
  }

  func time(_ name: String) throws(SyncModelError) -> Int64 {
    guard let time = Self.milliseconds(try value(name)) else { throw wrong(name, Self.timeNeeded) }
    return time
  }

  func object(_ name: String) throws(SyncModelError) -> SyncObject {
    guard case .object(let object) = try value(name) else { throw wrong(name, "expected a JSON object") }
    return object
  }

  func array(_ name: String) throws(SyncModelError) -> [SyncValue] {
    guard case .array(let elements) = try value(name) else { throw wrong(name, "expected an array") }
    return elements
  }

  func names(_ name: String) throws(SyncModelError) -> [String] {
    var names: [String] = []
    for element in try array(name) {
      guard case .text(let text) = element else { throw wrong(name, "expected an array of strings") }
      names.append(text)
    }
    return names
  }

  /// Reads a case of an enumeration.
  func word<Word: RawRepresentable & CaseIterable>(
    _ name: String, _ type: Word.Type = Word.self
  ) throws(SyncModelError) -> Word where Word.RawValue == String {
    guard let word = Word(rawValue: try text(name)) else {
      throw wrong(name, "expected one of \(Word.allCases.map(\.rawValue).joined(separator: ", "))")
    }
    return word
  }

  /// Returns the value of a member that may be absent or null.
  func optional<Value>(
    _ name: String, _ read: (String) throws(SyncModelError) -> Value
  ) throws(SyncModelError) -> Value? {
    switch object[name] {
    case nil, .null?: nil
    case _?: try read(name)
    }
  }

  /// Reads times by name.
  func editTimes() throws(SyncModelError) -> [String: Int64] {
    guard let times = try optional("editTimes", object) else { return [:] }
    var result: [String: Int64] = [:]
    for member in times.members {
      guard let time = Self.milliseconds(member.value) else { throw wrong("editTimes", Self.timeNeeded) }
      result[member.name] = time
    }
    return result
  }

  /// Reads the messages of an array. An error names the position in the array.
  func messages<Message: WireMessage>(
    _ name: String, _ type: Message.Type = Message.self
  ) throws(SyncModelError) -> [Message] {
    let elements = try array(name)
    var messages: [Message] = []
    messages.reserveCapacity(elements.count)
    for (index, element) in elements.enumerated() {
      do throws(SyncModelError) {
        messages.append(try Message(wire: element))
      } catch {
        throw error.inside("\(name)[\(index)]")
      }
    }
    return messages
  }

  /// Reads the message of a member.
  func message<Message: WireMessage>(
    _ name: String, _ type: Message.Type = Message.self
  ) throws(SyncModelError) -> Message {
    let value = try value(name)
    do throws(SyncModelError) {
      return try Message(wire: value)
    } catch {
      throw error.inside(name)
    }
  }

  func wrong(_ name: String, _ rule: String) -> SyncModelError {
    SyncModelError(.wrongMember, rule, member: name)
  }

  private static func milliseconds(_ value: SyncValue) -> Int64? {
    guard case .text(let text) = value else { return nil }
    return WireTime.milliseconds(text)
  }

  private static let timeNeeded = "expected a time such as 2026-03-01T08:00:00.000Z"
}
