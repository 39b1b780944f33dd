/// Finds out why a segment does not open: what a person is told differs, nothing is given out in any case.
struct Diagnosis {
  private let opener: SegmentOpener
  private let memory: SegmentMemory
  private let segmentCount: Int

  init(_ opener: SegmentOpener, _ memory: SegmentMemory, segmentCount: Int) {
    (self.opener, self.memory, self.segmentCount) = (opener, memory, segmentCount)
  }

  func ofSegment(_ segment: Int, plainCount: Int) throws(SealedFileError) -> SealedFileError {
    .content(.damaged, opener.path, "segment \(segment) is not what was written")
  }
}
