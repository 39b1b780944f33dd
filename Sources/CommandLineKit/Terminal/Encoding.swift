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
