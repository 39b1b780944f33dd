/// The difference between the server's clock and the clock of a device, in milliseconds; positive when the server's is
/// ahead.
public enum ClockOffset {
  /// The difference in milliseconds up to which the network is the cause.
  private static let noise: Int64 = 1_000

  /// Returns the offset after a response.
  ///
  /// The server read its clock between the request and the response, so a response bounds the offset but does not
  /// determine it. Half the time of a slow request would not be a measurement. A known offset outside the bounds moves
  /// to the nearest bound.
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
