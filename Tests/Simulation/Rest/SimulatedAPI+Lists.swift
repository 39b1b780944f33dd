import HTTPServer
import SyncModel

/// The pages that a device has read of a list since its first page.
struct ListReading {
  /// The resources that existed when the reading began.
  let present: Set<Int64>
  /// The resources by the position of their page.
  var pages: [String: [Int64]] = [:]
  /// The number of pages, also of repeated ones.
  var count = 0
  /// The position whose page leads to itself each time; `nil` if all pages lead to the next one.
  var stuck: String?
  /// Whether the device can see that the list is not complete.
  var isDoubtful = false

  var served: [Int64] { pages.values.flatMap { $0 } }
}

extension SimulatedAPI {
  /// Returns the document with a page of a list, or with the whole list.
  func list(
    _ entity: APIStyle.EntityStyle, _ parent: Int64?, _ request: Request, _ mischief: Mischief?, _ delivery: Delivery
  ) -> SyncValue {
    let type = entity.kind.entity
    var resources = store.all(type)
    if let parent, let column = entity.parent?.columns[0] {
      resources = resources.filter { $0.fields[column] == .integer(parent) }
    }
    if entity.isNewestFirst { resources.reverse() }
    // The list of one parent has no pages.
    let paging = parent == nil ? entity.paging : .none
    let (position, begin, size) = Self.page(paging, entity.pageSize, request)
    let name = "\(delivery.device) \(request.path)"
    if position == nil || readings[name] == nil {
      readings[name] = ListReading(present: Set(resources.map(\.id)))
    }
    readings[name]?.count += 1
    if let count = readings[name]?.count, count > resources.count + store.deleted[type, default: []].count + 20 {
      note(Violation(5, "\(delivery.device) requests \(count) pages of \(request.path): the list does not end"))
    }
    var first = min(begin, resources.count)
    var end = min(first + size, resources.count)
    switch mischief {
    case .shrunk: end = max(first, end - 1)
    case .shifted: first = max(0, min(end, first + (random.chance(0.5) ? 1 : -1)))
    default: break
    }
    let page = resources[first..<end]
    var items: [SyncValue] = page.map { .object(style.body(entity, $0, store)) }
    damage(&items, mischief)
    var document: SyncObject = [APIStyle.items: .array(items)]
    if style.hasOK { document["ok"] = true }
    var isLast = true
    switch paging {
    case .none: break
    case .number, .offset: isLast = page.isEmpty
    case .address, .cursor:
      isLast = end >= resources.count || mischief == .earlyEnd
      document[APIStyle.next] = isLast ? .null : next(paging, String(end), request)
      if mischief == .stuckNext || stuckList == entity.name { readings[name]?.stuck = position ?? "0" }
      let isStuck = readings[name]?.stuck == position ?? "0"
      if let bad = isStuck ? next(paging, position ?? "0", request) : badNext(mischief, request) {
        document[APIStyle.next] = bad
        isLast = false
        readings[name]?.isDoubtful = true
      }
    }
    if mischief == .noList { document[APIStyle.items] = nil }
    if mischief == .errorObject { document[APIStyle.items] = ["message": "busy"] }
    readings[name]?.pages[position ?? "", default: []] = mischief == .noList ? [] : page.map(\.id)
    if mischief == .twice || mischief == .errorObject { readings[name]?.isDoubtful = true }
    // A look-up takes nothing in place of a list for an empty one.
    if isLast || mischief == .noList { finish(name, type) }
    return .object(document)
  }

  /// Notes the resources that a device has to take for deleted, because a list that seems to be complete lacks them.
  private func finish(_ name: String, _ type: String) {
    guard let reading = readings[name], !reading.isDoubtful else { return }
    let served = reading.served
    let ids = Set(served)
    guard ids.count == served.count else { return }
    for id in reading.present.subtracting(ids).sorted() { doubtful.formUnion(store.family(type, id)) }
  }

  private static func page(
    _ paging: APIStyle.Paging, _ usual: Int, _ request: Request
  ) -> (position: String?, begin: Int, size: Int) {
    let query = request.query
    switch paging {
    case .none: return (nil, 0, .max / 2)
    case .number(let first):
      let number = (query["page"].flatMap(Int.init) ?? first) - first
      let size = query["size"].flatMap(Int.init) ?? usual
      return (number == 0 ? nil : String(number), number * size, size)
    case .offset:
      let skipped = query["skip"].flatMap(Int.init) ?? 0
      return (skipped == 0 ? nil : String(skipped), skipped, query["limit"].flatMap(Int.init) ?? usual)
    case .address, .cursor:
      let after = query["after"]
      return (after, after.flatMap(Int.init) ?? 0, usual)
    }
  }

  private func next(_ paging: APIStyle.Paging, _ position: String, _ request: Request) -> SyncValue {
    guard case .address = paging else { return .text(position) }
    let reference = random.pick(["?after=\(position)", "\(request.path)?after=\(position)"])
    return .text(random.chance(0.2) ? SimulatedDevice.url + request.path + "?after=\(position)" : reference)
  }

  private func badNext(_ mischief: Mischief?, _ request: Request) -> SyncValue? {
    switch mischief {
    case .badNext: random.pick([.text("http://["), .text("with a space"), .object([:]), .array([1]), .bool(true)])
    case .otherHost:
      .text(random.pick(["http://other.example\(request.path)?after=1", "//127.0.0.1:2\(request.path)"]))
    default: nil
    }
  }

  private func damage(_ items: inout [SyncValue], _ mischief: Mischief?) {
    guard !items.isEmpty else { return }
    let index = random.number(0..<items.count)
    guard case .object(var item) = items[index] else { return }
    switch mischief {
    case .twice: return items.append(items[index])
    case .itemWithoutId: item["id"] = random.pick([nil, SyncValue.null, SyncValue.object([:]), SyncValue(real: 1.5)])
    case .wrongType:
      item[random.pick(["amount", "title", "code"])] = random.pick([.object([:]), .array(["far"]), .bool(true)])
    default: return
    }
    items[index] = .object(item)
  }
}
