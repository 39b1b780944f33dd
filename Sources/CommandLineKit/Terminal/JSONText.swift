/// Appends the text as a JSON string, including quotes.
func appendJSONString(_ text: String, to bytes: inout [UInt8]) {
  var text = text
  // A native string hands out its own bytes, which are valid UTF-8.
  text.withUTF8 { appendValid($0, to: &bytes) }
}

/// Appends external UTF-8, which may be invalid, as a JSON string.
func appendJSONString(utf8 text: UnsafeBufferPointer<UInt8>, to bytes: inout [UInt8]) {
  if text.allSatisfy({ $0 < 0x80 }) {
    appendValid(text, to: &bytes)
  } else {
    appendJSONString(String(decoding: text, as: UTF8.self), to: &bytes)
  }
}

/// Appends valid UTF-8. Copies runs without escapes in one piece.
private func appendValid(_ text: UnsafeBufferPointer<UInt8>, to bytes: inout [UInt8]) {
  bytes.append(UInt8(ascii: "\""))
  var start = 0
  var index = 0
  while index < text.count {
    let byte = text[index]
    if isPlain(byte) {
      index += 1
      continue
    }
    let (length, scalar) = scalarToEscape(text, at: index)
    guard let scalar else {
      index += length
      continue
    }
    bytes.append(contentsOf: UnsafeBufferPointer(rebasing: text[start..<index]))
    appendEscape(scalar, to: &bytes)
    index += length
    start = index
  }
  bytes.append(contentsOf: UnsafeBufferPointer(rebasing: text[start...]))
  bytes.append(UInt8(ascii: "\""))
}

/// Returns whether the byte is not part of any escaped character.
@inline(__always)
private func isPlain(_ byte: UInt8) -> Bool {
  byte < 0x80
    ? byte >= 0x20 && byte < 0x7F && byte != UInt8(ascii: "\"") && byte != UInt8(ascii: "\\")
    : byte != 0xC2 && byte != 0xD8 && byte != 0xE2
}

/// Returns the length of the character at the index, and its scalar if it must be escaped in JSON or on a terminal.
private func scalarToEscape(
  _ text: UnsafeBufferPointer<UInt8>, at index: Int
) -> (length: Int, scalar: Unicode.Scalar?) {
  let byte = text[index]
  let length: Int
  let value: UInt32
  switch byte {
  case ..<0x80:
    return (1, Unicode.Scalar(byte))
  case 0xC2, 0xD8:
    length = 2
    value = UInt32(byte & 0x1F) << 6 | UInt32(text[index + 1] & 0x3F)
  default:  // 0xE2
    length = 3
    value = 0x2000 | UInt32(text[index + 1] & 0x3F) << 6 | UInt32(text[index + 2] & 0x3F)
  }
  let scalar = Unicode.Scalar(value)
  return (length, scalar.flatMap { drivesTerminal($0) ? $0 : nil })
}

private func appendEscape(_ scalar: Unicode.Scalar, to bytes: inout [UInt8]) {
  bytes.append(UInt8(ascii: "\\"))
  switch scalar {
  case "\"", "\\": bytes.append(UInt8(truncatingIfNeeded: scalar.value))
  case "\n": bytes.append(UInt8(ascii: "n"))
  case "\r": bytes.append(UInt8(ascii: "r"))
  case "\t": bytes.append(UInt8(ascii: "t"))
  case "\u{08}": bytes.append(UInt8(ascii: "b"))
  case "\u{0C}": bytes.append(UInt8(ascii: "f"))
  default:
    bytes.append(UInt8(ascii: "u"))
    for shift in [12, 8, 4, 0] as [UInt32] {
      let digit = UInt8(truncatingIfNeeded: scalar.value >> shift & 0xF)
      bytes.append(digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") + digit - 10)
    }
  }
}

/// Appends the number in decimal digits.
func appendDecimal(_ number: Int64, to bytes: inout [UInt8]) {
  if number < 0 { bytes.append(UInt8(ascii: "-")) }
  var rest = number.magnitude
  let start = bytes.count
  repeat {
    let (quotient, digit) = rest.quotientAndRemainder(dividingBy: 10)
    bytes.append(UInt8(ascii: "0") + UInt8(truncatingIfNeeded: digit))
    rest = quotient
  } while rest > 0
  bytes[start...].reverse()
}

/// Appends the bytes in base64 between quotes.
func appendBase64(_ data: UnsafeRawBufferPointer, to bytes: inout [UInt8]) {
  bytes.reserveCapacity(bytes.count + (data.count + 2) / 3 * 4 + 2)
  bytes.append(UInt8(ascii: "\""))
  var index = 0
  while index < data.count {
    let left = data.count - index
    let second = left > 1 ? data[index + 1] : 0
    let third = left > 2 ? data[index + 2] : 0
    let group = UInt32(data[index]) << 16 | UInt32(second) << 8 | UInt32(third)
    bytes.append(base64Digit(group >> 18))
    bytes.append(base64Digit(group >> 12))
    bytes.append(left > 1 ? base64Digit(group >> 6) : UInt8(ascii: "="))
    bytes.append(left > 2 ? base64Digit(group) : UInt8(ascii: "="))
    index += 3
  }
  bytes.append(UInt8(ascii: "\""))
}

private func base64Digit(_ group: UInt32) -> UInt8 {
  let six = UInt8(truncatingIfNeeded: group & 0x3F)
  return switch six {
  case 0..<26: UInt8(ascii: "A") + six
  case 26..<52: UInt8(ascii: "a") + six - 26
  case 52..<62: UInt8(ascii: "0") + six - 52
  case 62: UInt8(ascii: "+")
  default: UInt8(ascii: "/")
  }
}
