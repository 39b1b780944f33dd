import Foundation
import TestSupport
import Testing

@testable import HTTPServer

@Suite struct ConnectionTableTests {
  private let limits = ConnectionTable.Limits(
    header: .seconds(10), pause: .seconds(30), strangersPerAddress: 4, strangers: 16)

  @Test(
    "Connections without a token are bounded in total and for each address, and those with one are never closed for them"
  )
  func bounds() {
    let seed = UInt64.random(in: 0...UInt64.max)
    var random = Seeded(seed)
    for _ in 0..<50 {
      var table = ConnectionTable(limits)
      var open: [UInt: (address: UInt64, isKnown: Bool, isWaiting: Bool)] = [:]
      var now = ContinuousClock.now
      for id in 1...400 as ClosedRange<UInt> {
        now += .milliseconds(Int64.random(in: 0...200, using: &random))
        let address = UInt64.random(in: 0...9, using: &random)
        func close(_ ids: [UInt]) {
          for closed in ids {
            #expect(open[closed]?.isWaiting == true, "seed \(seed)")
            table.closed(closed)
            open[closed] = nil
          }
        }
        close(table.opened(id, from: address, at: now))
        close(table.expired(at: now).filter { $0 != id })
        open[id] = (address, false, true)
        for id in open.keys.sorted() where Int.random(in: 0..<4, using: &random) == 0 {
          guard let connection = open[id] else { continue }
          if connection.isWaiting {
            table.began(id)
          } else {
            let isKnown = Bool.random(using: &random)
            close(table.ended(id, isKnown: isKnown, at: now))
            open[id]?.isKnown = connection.isKnown || isKnown
          }
          open[id]?.isWaiting.toggle()
        }
        let strangers = open.values.filter { $0.isWaiting && !$0.isKnown }
        #expect(strangers.count <= limits.strangers, "seed \(seed)")
        let crowd = Dictionary(grouping: strangers, by: \.address).values.map(\.count).max() ?? 0
        #expect(crowd <= limits.strangersPerAddress, "seed \(seed)")
        #expect(table.count == open.count, "seed \(seed)")
      }
    }
  }

  @Test("A connection is closed at its deadline, however often bytes came, and a request in between gives it more time")
  func deadlines() {
    var table = ConnectionTable(limits)
    let start = ContinuousClock.now
    for id in [1, 2, 3] as [UInt] { #expect(table.opened(id, from: UInt64(id), at: start).isEmpty) }
    table.began(2)
    table.began(3)
    #expect(table.ended(3, isKnown: true, at: start + .seconds(5)).isEmpty)
    #expect(table.expired(at: start + .milliseconds(9_999)).isEmpty)
    #expect(table.expired(at: start + .seconds(10)) == [1])
    #expect(table.expired(at: start + .seconds(34)).isEmpty)
    #expect(table.expired(at: start + .seconds(35)) == [3])
    #expect(table.expired(at: start + .seconds(1_000)).isEmpty)
  }

  @Test(
    "A new connection takes the place of the oldest that waits: of its own address, or of the address that has the most"
  )
  func places() {
    var table = ConnectionTable(limits)
    let now = ContinuousClock.now
    for id in 1...4 as ClosedRange<UInt> { #expect(table.opened(id, from: 1, at: now).isEmpty) }
    #expect(table.opened(5, from: 1, at: now) == [1])
    for id in 6...8 as ClosedRange<UInt> { #expect(table.opened(id, from: 2, at: now).isEmpty) }
    for id in 9...17 as ClosedRange<UInt> { #expect(table.opened(id, from: UInt64(id), at: now).isEmpty) }
    #expect(table.opened(18, from: 100, at: now) == [2])
    table.began(18)
    #expect(table.ended(18, isKnown: true, at: now).isEmpty)
    #expect(table.opened(19, from: 101, at: now).isEmpty)
  }
}
