/// The difference between the server's clock and the clock of a device, in milliseconds; positive when the server's is ahead.
public enum ClockOffset {
  /// Differences below this are the network's.
  private static let noise: Int64 = 1_000

  /// Returns the offset after a response.
  ///
  /// The server read its clock between the request and the response, so a response bounds the offset and does not
  /// determine it: half of a slow request is no measurement. A known offset outside of the bounds moves to the
  /// nearest bound.
  /// - Parameters:
  ///   - known: the offset so far; `nil` before the first response, when both clocks count as equal.
  ///   - serverTime: the server's clock, in milliseconds since 1970-01-01 UTC.
  ///   - sent: the device's clock when it sent the request.
  ///   - received: the device's clock when the response arrived; not before `sent`.
  public static func afterResponse(known: Int64?, serverTime: Int64, sent: Int64, received: Int64) -> Int64 {
    let nearest = min(max(known ?? 0, serverTime - received), serverTime - sent)
    guard let known, abs(known - nearest) < noise else { return nearest }
    return known
  }
}
