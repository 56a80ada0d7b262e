// Prints its own resident bytes: what a Swift process costs before it does anything.
import CBaseline

print(baseline_resident_byte_count(0))
