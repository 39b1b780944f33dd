/// Converts times of a device to the clock of the server for a merge.
///
/// A device's clock may be hours wrong. Its edit times are corrected by the offset that was measured at the last
/// contact. No time is later than the server's clock, so a clock that runs ahead has no advantage.
public struct MergeClock: Equatable, Sendable {
  /// The server's time, in milliseconds since 1970-01-01 UTC.
  public var serverNow: Int64
  /// The server's time minus the time of the local side, in milliseconds; 0 if local times are already corrected, such
  /// as in a merge on the server.
  public var localOffset: Int64

  /// Creates a clock from milliseconds: the server's current time, and the server's clock minus the local clock.
  public init(serverNow: Int64, localOffset: Int64 = 0) {
    self.serverNow = serverNow
    self.localOffset = localOffset
  }

  /// Returns a state of the local side with its times by the server's clock.
  func corrected(local state: RecordState) -> RecordState { corrected(state, by: localOffset) }

  /// Returns a state of the remote side. Its times are already by the server's clock.
  func corrected(remote state: RecordState) -> RecordState { corrected(state, by: 0) }

  private func corrected(_ state: RecordState, by offset: Int64) -> RecordState {
    func corrected(_ time: Int64) -> Int64 {
      let (sum, overflows) = time.addingReportingOverflow(offset)
      return min(overflows ? (offset > 0 ? .max : .min) : sum, serverNow)
    }
    return RecordState(
      fields: state.fields, isDeleted: state.isDeleted, syncVersion: state.syncVersion,
      updatedAt: corrected(state.updatedAt), editTimes: state.editTimes.mapValues(corrected),
      userEditedFields: state.userEditedFields)
  }
}
