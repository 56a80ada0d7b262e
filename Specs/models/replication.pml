/* One device ships its log to a server over a network that loses, repeats and reorders; both ends crash, and both may be set back to a backup.
   README.md beside this file tells what is modelled and what each variant teaches. Bounds and variants are macros; tools/models.py sets them. */

#ifndef OFFSETS
#define OFFSETS 2  /* offsets of the log */
#endif
#ifndef EVENTS
#define EVENTS 3   /* events that the device captures: one at an offset, another one after a setback */
#endif
#ifndef CRASHES
#define CRASHES 2  /* losses of power, of either end */
#endif
#ifndef SERVER_SETBACKS
#define SERVER_SETBACKS 1 /* the server is restored from a backup, 0 or 1 times */
#endif
#ifndef DEVICE_SETBACKS
#define DEVICE_SETBACKS 1 /* the device is, 0 or 1 times */
#endif
#ifndef FRAMES
#define FRAMES 2   /* frames under way, 1 or 2; any of them may be repeated as often as the network likes */
#endif
#ifndef ANSWERS
#define ANSWERS 2  /* answers under way, 1 or 2 */
#endif
/* With PROGRESS messages are lost and repeated this often; without, as often as the network likes. */
#ifndef LOSSES
#define LOSSES 1
#endif
#ifndef COPIES
#define COPIES 1
#endif

/* Properties. With ONLY a variant is held against one of them, so that it fails for the reason it is kept for. */
#define ACCEPTED 1  /* what the device takes for accepted is durable on the server */
#define ONCE 2      /* the server counts no event twice */
#define ORDER 3     /* a branch of the server is what the device committed, in order, without a hole */
#define KEPT 4      /* a durable event is on the device, on the server or archived, whatever is settled */
#ifndef ONLY
#define ONLY 0
#endif
#define must(property, condition) assert((condition) || (ONLY != 0 && ONLY != property))

#define EPOCHS 2
#define PLACES (EPOCHS * OFFSETS)
#define at(epoch, offset) ((epoch) * OFFSETS + (offset))
/* The events below an offset, three bits each. It stands for the root hash, and for the events where they are sent along. */
#define nth(events, offset) (((events) >> (3 * (offset))) & 7)

/* A frame: a contiguous run of events behind `first`; without events it is the handshake. */
typedef Frame {
  bool is_there;
  byte epoch; byte fork;   /* the size at which the epoch left the one before */
  byte first; byte last;
  byte oldest;             /* below this the device has gaps only */
  short events
}
/* An answer: what the server has, and what may be trimmed. */
typedef Answer {
  bool is_there;
  byte epoch; byte size; byte settled; byte generation;
  short events
}
Frame frames[2];
Answer answers[2];

/* The device. */
byte log[OFFSETS];
byte captured;        /* events ever; the last one's number */
byte size, synced;    /* written, durable */
byte oldest;          /* below this it has trimmed */
byte accepted, receipt;  /* in memory, durable */
byte epoch, fork;
byte known_generation, durable_generation;

/* The server: one branch for each epoch. */
byte branch[PLACES];
bool hole[PLACES];
bool counted[PLACES];
byte held[EPOCHS], stored[EPOCHS];  /* in memory, durable */
byte saved[EPOCHS];                 /* in its backup */
byte settled[EPOCHS];
byte generation;

byte archived;        /* events that were settled: they are safe elsewhere */
byte due;             /* events that must be somewhere */
byte stranded;        /* of them, those that a setback took from the device */
byte crashes, losses, copies;
byte heard;           /* the newest generation that the device was told of */
bool was_set_back;    /* the device was */
bool server_was_set_back;

hidden byte i, j, k, n, common;
hidden byte agrees;
hidden short packed;

inline pack(offsets) {
  packed = 0;
  for (i : 0 .. offsets - 1) { packed = packed | (log[i] << (3 * i)) }
}

/* Which events are where: `k` on the device, `j` durable on the server. */
inline look() {
  k = 0; j = 0;
  for (i : 0 .. OFFSETS - 1) {
    if :: i >= oldest && i < size -> k = k | (1 << log[i]) :: else fi;
    if :: i < stored[0] && !hole[i] -> j = j | (1 << branch[i]) :: else fi;
    if :: i < stored[1] && !hole[at(1, i)] -> j = j | (1 << branch[at(1, i)]) :: else fi
  }
}

inline check() {
  look();
  must(KEPT, (due & ~(k | j | archived)) == 0);
  for (i : 0 .. accepted - 1) { must(ACCEPTED, heard != generation || ((j | archived) & (1 << log[i]))) }
}

inline check_server() {
  for (j : 0 .. EPOCHS - 1) {
    for (i : 0 .. OFFSETS - 1) {
      if
      :: i < held[j] ->
         must(ORDER, i == 0 || branch[at(j, i)] > branch[at(j, i - 1)]);
         must(ORDER, j != epoch || (was_set_back && epoch == 0) || i >= size || branch[at(j, i)] == log[i]);
         for (k : 0 .. PLACES - 1) {
           must(ONCE, k == at(j, i) || k % OFFSETS >= held[k / OFFSETS] || !counted[k] || !counted[at(j, i)] || branch[k] != branch[at(j, i)])
         }
      :: else
      fi
    }
  }
}

inline make_durable() {
  for (i : synced .. size - 1) { due = due | (1 << log[i]) }
  synced = size; receipt = accepted; durable_generation = known_generation
}

/* The device captures, and makes durable, each at its leisure. */
active proctype capture() {
end:
  do
  :: d_step { captured < EVENTS && size < OFFSETS -> captured++; log[size] = captured; size++ }
  :: d_step { size > synced || receipt != accepted || durable_generation != known_generation -> make_durable() }
  od
}

#ifdef SHIP_UNSYNCED
#define SHIPPED size
#else
#define SHIPPED synced
#endif
#ifdef PROGRESS
#define may_lose (losses < LOSSES)
#define may_copy (copies < COPIES)
#define count_loss losses++
#define count_copy copies++
#else
#define may_lose true
#define may_copy true
#define count_loss skip
#define count_copy skip
#endif

inline forget_frame(slot) {
  frames[slot].is_there = false; frames[slot].epoch = 0; frames[slot].fork = 0; frames[slot].first = 0; frames[slot].last = 0;
  frames[slot].oldest = 0; frames[slot].events = 0
}
inline forget_answer(slot) {
  answers[slot].is_there = false; answers[slot].epoch = 0; answers[slot].size = 0; answers[slot].settled = 0; answers[slot].generation = 0;
  answers[slot].events = 0
}

/* Two of a kind are kept in an order, and equal ones once: which is which makes no difference. */
#define weight(it) ((it.epoch << 6 | it.fork << 4 | it.first << 2 | it.last) * 4 + it.oldest)
#define is_double(one, other) (one.is_there && other.is_there && weight(one) == weight(other) && one.events == other.events)
#define is_swapped(one, other) \
  (other.is_there && (!one.is_there || weight(one) < weight(other) || (weight(one) == weight(other) && one.events < other.events)))
inline swap(one, other) { n = one; one = other; other = n }
inline tidy_frames() {
  if :: is_double(frames[0], frames[1]) -> forget_frame(1) :: else fi;
  if
  :: is_swapped(frames[0], frames[1]) ->
     n = frames[0].is_there; frames[0].is_there = frames[1].is_there; frames[1].is_there = n;
     swap(frames[0].epoch, frames[1].epoch); swap(frames[0].fork, frames[1].fork); swap(frames[0].first, frames[1].first);
     swap(frames[0].last, frames[1].last); swap(frames[0].oldest, frames[1].oldest);
     packed = frames[0].events; frames[0].events = frames[1].events; frames[1].events = packed
  :: else
  fi
}
#define answer_weight(it) ((it.epoch << 6 | it.size << 4 | it.settled << 2 | it.generation))
#define is_answer_double(one, other) (one.is_there && other.is_there && answer_weight(one) == answer_weight(other) && one.events == other.events)
#define is_answer_swapped(one, other) \
  (other.is_there && (!one.is_there || answer_weight(one) < answer_weight(other) || \
   (answer_weight(one) == answer_weight(other) && one.events < other.events)))
inline tidy_answers() {
  if :: is_answer_double(answers[0], answers[1]) -> forget_answer(1) :: else fi;
  if
  :: is_answer_swapped(answers[0], answers[1]) ->
     n = answers[0].is_there; answers[0].is_there = answers[1].is_there; answers[1].is_there = n;
     swap(answers[0].epoch, answers[1].epoch); swap(answers[0].size, answers[1].size); swap(answers[0].settled, answers[1].settled);
     swap(answers[0].generation, answers[1].generation);
     packed = answers[0].events; answers[0].events = answers[1].events; answers[1].events = packed
  :: else
  fi
}

inline send_frame(until) {
  d_step {
    pack(until);
    frames[slot].is_there = true; frames[slot].epoch = epoch; frames[slot].fork = fork;
    frames[slot].first = from; frames[slot].last = until; frames[slot].oldest = oldest; frames[slot].events = packed;
#ifdef DEVICE_TRUSTS_SENT
    accepted = until; check();
#endif
    tidy_frames();
    from = 0; slot = 0
  }
}

/* Sends what is not accepted, again and again; a handshake if there is nothing. Without PROGRESS also what lies behind, before an answer. */
active proctype ship() {
  byte slot, from;
#ifdef NO_RETRY
  byte sent;
#endif
end:
  do
  :: atomic { !frames[0].is_there || (FRAMES == 2 && !frames[1].is_there) ->
       if :: frames[0].is_there -> slot = 1 :: else fi;
       from = accepted;
#ifdef NO_RETRY
       from = sent; sent = SHIPPED;
#endif
#ifndef PROGRESS
       do :: from < SHIPPED -> from++ :: break od;
       if :: from + 1 < SHIPPED -> send_frame(from + 1); goto end :: skip fi;
#endif
       send_frame(SHIPPED)
     }
  od
}

#define answer answers[slot]
#ifdef OLD_GENERATION_BELIEVED
#define is_stale false
#define is_news (answer.generation != known_generation)
#else
#define is_stale (answer.generation < known_generation)
#define is_news (answer.generation > known_generation)
#endif
#ifdef NUMBER_IS_POSITION
#define same_event(one, other) true
#else
#define same_event(one, other) ((one) == (other))
#endif

/* How far an answer agrees with the log, and what to do then. What has not been synced when it matters is settled by a later answer. */
inline settle_position() {
  if :: answer.generation > heard -> heard = answer.generation :: else fi;
  common = 0;
  do
  :: common < answer.size && common < synced && same_event(nth(answer.events, common), log[common]) -> common++
  :: else -> break
  od;
  if
  :: common == answer.size ->
     /* A reply that was lost: go forward. A server that lost what it had, and says so: go back. */
     if
#ifdef NO_REWIND
     :: answer.size > accepted -> accepted = answer.size
#else
     :: is_news || answer.size > accepted -> accepted = answer.size
#endif
     :: else
     fi;
     known_generation = answer.generation
  :: common < answer.size && size > synced
  :: common < answer.size && size == synced && common == synced ->
     /* This device was set back: it gets its own events from the server. */
     for (i : synced .. answer.size - 1) { log[i] = nth(answer.events, i); stranded = stranded & ~(1 << log[i]) }
     size = answer.size; synced = size; accepted = size; receipt = size;
     known_generation = answer.generation; durable_generation = known_generation
  :: common < answer.size && size == synced && common < synced ->
     /* Two histories: a new epoch from where they part. */
#ifdef FORK_DROPS
     for (i : common .. answer.size - 1) { log[i] = nth(answer.events, i) }
     size = answer.size; synced = size; accepted = size; receipt = size;
#else
     assert(epoch == 0);  /* one setback of the device makes one fork */
     epoch = 1; fork = common; accepted = common; receipt = common;
#endif
     known_generation = answer.generation; durable_generation = known_generation
  fi;
#ifdef TRIM_ON_ACCEPT
  if :: accepted > oldest -> oldest = accepted :: else fi
#else
  if :: answer.settled <= common && answer.settled <= accepted && answer.settled > oldest -> oldest = answer.settled :: else fi
#endif
}

active proctype receive() {
  byte slot;
end:
  do
  :: atomic { answers[0].is_there || answers[1].is_there ->
       if :: answers[0].is_there :: answers[1].is_there -> slot = 1 fi;
       d_step {
         if
         :: answer.epoch == epoch && !is_stale -> settle_position(); check()
         :: else
         fi
       }
       if
       :: may_copy -> count_copy
       :: d_step { forget_answer(slot); tidy_answers(); skip }
       fi;
       slot = 0
     }
  od
}

#define frame frames[slot]

inline take_frame() {
  n = frame.epoch;
  if
  :: n == 1 && held[1] == 0 ->
     /* A branch begins with what it shares with the one before; that counts there. */
     common = 0;
     do
     :: common < frame.fork && common < frame.last && common < held[0] && branch[common] == nth(frame.events, common) ->
        branch[at(1, common)] = branch[common]; hole[at(1, common)] = hole[common]; counted[at(1, common)] = false;
        common++
     :: else -> break
     od;
     held[1] = common
  :: else
  fi;
  agrees = true;
  for (i : 0 .. held[n] - 1) {
    if :: i < frame.last && !same_event(branch[at(n, i)], nth(frame.events, i)) -> agrees = false :: else fi
  }
  j = (frame.first < held[n] -> held[n] : frame.first);
#ifdef NO_OVERLAP_CHECK
  agrees = true; j = frame.first;
#endif
#ifdef NO_SEQUENCE_CHECK
  agrees = true;
#endif
  if
#ifdef NO_SEQUENCE_CHECK
  :: agrees ->
#else
  :: agrees && frame.first <= held[n] ->
#endif
     do
     :: j < frame.last && held[n] < OFFSETS ->
        i = at(n, held[n]);
        branch[i] = nth(frame.events, j); hole[i] = (j < frame.oldest); counted[i] = !hole[i];
#ifndef NO_ID_KEY
        for (k : 0 .. PLACES - 1) {
          if :: k != i && k % OFFSETS < held[k / OFFSETS] && counted[k] && branch[k] == branch[i] -> counted[i] = false :: else fi
        }
#endif
        held[n]++; j++
     :: else -> break
     od
  :: else
  fi;
  check_server()
}

inline server_restarts() {
  held[0] = stored[0]; held[1] = stored[1];
  for (i : 0 .. PLACES - 1) {
    if :: i % OFFSETS >= held[i / OFFSETS] -> branch[i] = 0; hole[i] = false; counted[i] = false :: else fi
  }
}

inline send_answer() {
  packed = 0;
  answers[slot].is_there = true; answers[slot].epoch = asked; answers[slot].generation = generation; answers[slot].settled = settled[asked];
#ifdef ACK_BEFORE_DURABLE
  answers[slot].size = held[asked];
#else
  answers[slot].size = stored[asked];
#endif
  for (i : 0 .. answers[slot].size - 1) { packed = packed | (branch[at(asked, i)] << (3 * i)) }
  answers[slot].events = packed;
  tidy_answers();
  slot = 0; asked = 0
}

active proctype serve() {
  byte slot, asked;
end:
  do
  :: atomic { frames[0].is_there || frames[1].is_there ->
       if :: frames[0].is_there :: frames[1].is_there -> slot = 1 fi;
       d_step { asked = frame.epoch; take_frame() }
       if
       :: may_copy -> count_copy
       :: d_step { forget_frame(slot); tidy_frames(); skip }
       fi;
       slot = 0
     }
     if
#ifdef ACK_BEFORE_DURABLE
     :: skip
#else
     :: d_step { stored[0] = held[0]; stored[1] = held[1] }
#endif
     :: atomic { crashes < CRASHES -> crashes++; d_step { server_restarts(); check(); asked = 0; skip }; goto end }
     fi;
     if
     :: atomic { !answers[0].is_there || (ANSWERS == 2 && !answers[1].is_there) ->
          d_step { if :: answers[0].is_there -> slot = 1 :: else fi; send_answer() }
        }
     :: atomic { crashes < CRASHES -> crashes++; d_step { server_restarts(); check(); asked = 0; skip }; goto end }
     fi
#ifdef ACK_BEFORE_DURABLE
     ; d_step { stored[0] = held[0]; stored[1] = held[1] }
#endif
  od
}

inline archive(one) { if :: !hole[one] -> archived = archived | (1 << branch[one]) :: else fi }

/* What happens to both. */
active proctype world() {
  byte left;
end:
  do
  :: d_step { may_lose && frames[0].is_there -> count_loss; forget_frame(0); tidy_frames(); skip }
  :: d_step { may_lose && frames[1].is_there -> count_loss; forget_frame(1); tidy_frames(); skip }
  :: d_step { may_lose && answers[0].is_there -> count_loss; forget_answer(0); tidy_answers(); skip }
  :: d_step { may_lose && answers[1].is_there -> count_loss; forget_answer(1); tidy_answers(); skip }
  :: atomic { crashes < CRASHES ->
       /* The device loses power; of what was not synced a first part may survive, and is made durable by recovery. */
       crashes++;
       do :: size > synced -> size--; log[size] = 0 :: break od;
       d_step { accepted = receipt; known_generation = durable_generation; heard = known_generation; make_durable(); check(); skip }
     }
  :: d_step { SERVER_SETBACKS > 0 && !server_was_set_back && (saved[0] != stored[0] || saved[1] != stored[1]) -> saved[0] = stored[0]; saved[1] = stored[1] }
  :: d_step { SERVER_SETBACKS > 0 && !server_was_set_back ->
       server_was_set_back = true;
       /* The server is restored from its backup, knows it, and says so. */
       stored[0] = saved[0]; stored[1] = saved[1]; saved[0] = 0; saved[1] = 0;
       server_restarts();
       for (i : 0 .. EPOCHS - 1) { if :: settled[i] > stored[i] -> settled[i] = stored[i] :: else fi }
#ifndef SAME_GENERATION
       generation++;
#endif
       look(); due = due & ~(stranded & ~(k | j | archived));
       check(); skip
     }
  :: atomic { DEVICE_SETBACKS > 0 && !was_set_back && epoch == 0 ->
       /* The device is restored from its backup, and does not know it. */
       was_set_back = true; left = synced;
       do :: left > 0 -> left-- :: break od;
       d_step {
         look(); stranded = due & ~archived;
         size = left; synced = left;
         if :: accepted > left -> accepted = left :: else fi;
         if :: oldest > left -> oldest = left :: else fi;
         receipt = accepted;
         for (i : left .. OFFSETS - 1) { log[i] = 0 }
         look(); stranded = stranded & ~k; due = due & (k | j | archived);
         left = 0;
         check(); skip
       }
     }
  :: d_step { settled[0] == 0 && stored[0] > 0 -> settled[0] = stored[0]; for (i : 0 .. stored[0] - 1) { archive(i) }; skip }
  :: d_step { settled[1] == 0 && stored[1] > 0 -> settled[1] = stored[1]; for (i : 0 .. stored[1] - 1) { archive(at(1, i)) }; skip }
  od
}

#ifdef PROGRESS
#define all_accepted (size == synced && accepted == size && stored[epoch] == size && known_generation == generation)
ltl progress { <> [] all_accepted }
#endif
