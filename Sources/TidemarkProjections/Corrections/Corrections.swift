internal import TidemarkLog

/// Which events supersede which, as far as a fold has come.
///
/// Events that supersede each other, directly or not, are a *family*. It counts once: at its *place*, which is that of its original, with
/// the content of the event that *stands*. `Specs/projections.md` has the rules. What is remembered are corrections and what they name,
/// not other events.
struct Corrections: Sendable, Equatable {
  struct Member: Sendable, Equatable {
    /// Nil: named by another, but not there so far.
    var place: Place?
    /// Whether another supersedes it.
    var isNamed = false
    var family: Int
  }

  struct Family: Sendable, Equatable {
    var ids: [EventID]
    var standing: EventID
    var place: Place
    var hasOriginal = false
    /// What it would replace was trimmed: the value stays as it was, and this is counted.
    var isSetAside = false
  }

  /// An event that counts, or counted, at a place.
  struct Counted: Equatable {
    var offset: Offset
    var place: Place
  }

  /// What an event changes.
  struct Change: Equatable {
    var retracted: [Counted]
    var applied: Counted?
    /// The family concerned.
    var family: Int

    var firstOffset: Offset { retracted.reduce(applied?.place.offset ?? .max) { min($0, $1.place.offset) } }
  }

  /// What is known of an event that is named.
  enum Named {
    case at(Place)
    /// Not in the log so far.
    case missing
    /// Not in the log, which was trimmed.
    case perhapsTrimmed
  }

  private(set) var members: [EventID: Member] = [:]
  private(set) var families: [Int: Family] = [:]
  private var nextFamily = 0

  var isEmpty: Bool { members.isEmpty }
  var setAsideCount: Int { families.values.reduce(0) { $0 + ($1.isSetAside ? 1 : 0) } }

  /// Takes an event in that supersedes another or may be awaited, in offset order. Nil if it has nothing to do with corrections.
  mutating func note<Failure: Error>(
    _ id: EventID, at place: Place, superseding target: EventID?, find: (EventID) throws(Failure) -> Named
  ) throws(Failure) -> Change? {
    let known = members[id]
    if known.map({ $0.place != nil }) ?? (target == nil) { return nil }
    // Looked for first: if that fails, nothing has changed.
    var named: Named?
    if let target, target != id, members[target] == nil { named = try find(target) }

    var retracted: [Counted] = []
    let family: Int
    if let known {
      family = known.family
      if let before = counted(family) { retracted.append(before) }
    } else {
      family = nextFamily
      nextFamily += 1
      families[family] = Family(ids: [id], standing: id, place: place)
    }
    members[id, default: Member(family: family)].place = place
    if target == nil { settle(family, original: place) }

    if let target {
      switch named {
      case .at(let original)?:
        retracted.append(Counted(offset: original.offset, place: original))
        add(target, at: original, to: family)
        settle(family, original: original)
      case .missing?: add(target, at: nil, to: family)
      case .perhapsTrimmed?:
        add(target, at: nil, to: family)
        if families[family]?.hasOriginal == false { families[family]?.isSetAside = true }
      case nil:
        if let other = members[target]?.family, other != family {
          if let before = counted(other) { retracted.append(before) }
          merge(other, family)
        }
      }
      members[target]?.isNamed = true
    }
    let result = members[id]?.family ?? family
    findStanding(result, newest: id)
    return Change(retracted: retracted, applied: counted(result), family: result)
  }

  /// From the first to the last event of each family.
  var spans: [ClosedRange<Offset>] {
    families.values.compactMap { family in
      let offsets = family.ids.compactMap { members[$0]?.place?.offset }
      guard let first = offsets.min(), let last = offsets.max() else { return nil }
      return first...last
    }
  }

  /// What a family is in the state with.
  func counted(_ family: Int) -> Counted? {
    guard let family = families[family], !family.isSetAside, let standing = members[family.standing]?.place else { return nil }
    return Counted(offset: standing.offset, place: family.place)
  }

  /// What counts where an event lies: nil if nothing does, because its family counts elsewhere. For events of a family only.
  func counted(at member: Member) -> Counted? {
    guard let counted = counted(member.family), counted.place.offset == member.place?.offset else { return nil }
    return counted
  }

  mutating func setAside(_ family: Int) { families[family]?.isSetAside = true }

  // As they were saved.

  mutating func restore(_ id: EventID, _ member: Member) { members[id] = member }

  mutating func restore(_ number: Int, _ family: Family) {
    families[number] = family
    nextFamily = max(nextFamily, number + 1)
  }

  private mutating func add(_ id: EventID, at place: Place?, to family: Int) {
    members[id] = Member(place: place, family: family)
    families[family]?.ids.append(id)
  }

  private mutating func settle(_ family: Int, original place: Place) {
    families[family]?.place = place
    families[family]?.hasOriginal = true
    families[family]?.isSetAside = false
  }

  private mutating func merge(_ first: Int, _ second: Int) {
    guard let one = families[first], let two = families[second] else { return }
    let (kept, gone) = one.ids.count >= two.ids.count ? (first, second) : (second, first)
    guard let moved = families.removeValue(forKey: gone) else { return }
    for id in moved.ids { members[id]?.family = kept }
    families[kept]?.ids += moved.ids
    let placed = one.hasOriginal ? one : two.hasOriginal ? two : one.place.offset < two.place.offset ? one : two
    families[kept]?.place = placed.place
    families[kept]?.hasOriginal = placed.hasOriginal
    families[kept]?.isSetAside = placed.hasOriginal ? placed.isSetAside : one.isSetAside || two.isSetAside
  }

  /// The last that no other supersedes; where each is superseded, in a cycle, the last.
  private mutating func findStanding(_ family: Int, newest: EventID) {
    if members[newest]?.isNamed == false {
      families[family]?.standing = newest
      return
    }
    var best: (isFree: Bool, offset: Offset, id: EventID)?
    for id in families[family]?.ids ?? [] {
      guard let member = members[id], let place = member.place else { continue }
      let isBetter = best.map { !member.isNamed == $0.isFree ? place.offset > $0.offset : !member.isNamed } ?? true
      if isBetter { best = (!member.isNamed, place.offset, id) }
    }
    if let best { families[family]?.standing = best.id }
  }
}

extension [ClosedRange<Offset>] {
  /// Whether a family has events on both sides of an offset: then what was folded up to there does not stay as it was.
  func reach(across offset: Offset) -> Bool { contains { $0.lowerBound < offset && offset <= $0.upperBound } }
}
