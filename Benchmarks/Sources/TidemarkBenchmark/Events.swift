import TidemarkLog

/// Bytes of data in the events of most cases.
let dataByteCount = 200
/// What a frame stores beside its records.
let frameByteCount = 56

/// Events of 200 bytes, or so many, that look like what a gate reports: each differs from the others, and they compress as such text does.
func makeEvents(_ count: Int, byteCount: Int = dataByteCount) -> [NewEvent] {
  var generator = SplitMix(state: 1)
  let places = ["EWR", "JFK", "LGA"]
  let carriers = ["UA", "AA", "B6", "DL", "EV", "MQ", "US", "WN"]
  return (0..<count).map { index in
    let minute = Int.random(in: 0..<1440, using: &generator)
    let delay = Int.random(in: -10..<90, using: &generator)
    var text = #"{"place":"\#(places[Int.random(in: 0..<3, using: &generator)])","gate":"\#(Int.random(in: 1..<60, using: &generator))","#
    text += #""flight":"\#(carriers[Int.random(in: 0..<8, using: &generator)])\#(Int.random(in: 1..<6000, using: &generator))","#
    text += #""aircraft":"N\#(Int.random(in: 10000..<99999, using: &generator))","scheduled":\#(minute),"actual":\#(minute + delay),"#
    text += #""distance":\#(Int.random(in: 80..<5000, using: &generator)),"sequence":\#(index),"note":""#
    while text.utf8.count < byteCount - 2 {
      text += String(Int.random(in: 0..<10, using: &generator))
    }
    text += #""}"#
    return NewEvent(type: "scan", data: Array(text.utf8.prefix(byteCount)))
  }
}

/// Bytes of the frame that the engine stores for a batch of these events.
func storedByteCount(_ events: [NewEvent]) -> Int {
  let records = events.reduce(0) { $0 + 48 + $1.type.utf8.count + $1.data.count }
  return (frameByteCount + records + 7) / 8 * 8
}

/// Makes a log of `count` events, in batches of `batch`, and closes it.
func buildLog(at path: String, options: LogOptions, events: [NewEvent], count: Int, batch: Int, sealed: Bool) throws {
  try Log.create(at: path, options: options)
  let log = try Log.open(at: path, options: options)
  var done = 0
  while done < count {
    let start = done % events.count
    let end = min(start + min(batch, count - done), events.count)
    if batch == 1 {
      try log.append(events[start], durability: .written)
    } else {
      try log.append(Array(events[start..<end]), durability: .written)
    }
    done += end - start
  }
  try log.sync()
  if sealed { try log.seal() }
  try log.close()
}

/// A small generator of reproducible random numbers (SplitMix64).
struct SplitMix: RandomNumberGenerator {
  var state: UInt64

  mutating func next() -> UInt64 {
    state &+= 0x9e37_79b9_7f4a_7c15
    var value = state
    value = (value ^ (value >> 30)) &* 0xbf58_476d_1ce4_e5b9
    value = (value ^ (value >> 27)) &* 0x94d0_49bb_1331_11eb
    return value ^ (value >> 31)
  }
}
