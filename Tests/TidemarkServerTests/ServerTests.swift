import TestSupport
import Testing
import TidemarkEvidence
import TidemarkLog
import TidemarkProtocol
import TidemarkServer

@Suite struct ShippingTests {
  @Test func `a device enrols, shakes hands, ships, and gets a receipt that counts`() throws {
    let server = try TestServer()
    let device = try TestDevice(server)
    try device.append(10)
    let hands = try device.shakeHands()
    #expect(hands.accepted.size == 0 && hands.receipt == nil && hands.through == 0)
    let answer = try device.ship(try device.shipment())
    #expect(answer.accepted == device.log.size && answer.offsets == 0..<device.log.size && answer.changes == 1...10)
    #expect(answer.outcomes.isEmpty && answer.settled == 0)
    try device.evidence.accept(answer.receipt, device.policy)
    let again = try device.shakeHands()
    #expect(again.accepted == (try Checkpoint(answer.receipt.text)).head && again.receipt == answer.receipt && again.through == 10)
    try device.append(5)
    let second = try device.ship(try device.shipment(again.accepted.size))
    #expect(second.changes == 11...15)
    try device.evidence.accept(second.receipt, device.policy)
    let changes = try server.changes()
    #expect(changes.map(\.number) == Array(1...15))
    #expect(try changes.map { try device.log.event(at: $0.offset).isControl } == [Bool](repeating: false, count: 15))
  }
}
