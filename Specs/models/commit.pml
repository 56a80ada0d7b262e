/* Appending, syncing, rolling, crashing and recovering, as Specs/recovery.md says. README.md beside this file tells what is modelled and what
   each variant teaches. Bounds and variants are macros; tools/models.py sets them. */

#ifndef EVENTS
#define EVENTS 2   /* events, each submitted under its own id by a caller of its own until it is acknowledged */
#endif
#ifndef PLACES
#define PLACES 5   /* frames that a segment file has room for */
#endif
#ifdef FEW_FILES
#define FILES 2
#endif
#ifndef FILES
#define FILES 4    /* segment files at one time */
#endif
/* With STARTS_CLOSED an event is there already, in a segment closed in good order. */
#ifndef CRASHES
#define CRASHES 3  /* kills, power cuts and closings */
#endif
#ifndef FAULTS
#define FAULTS 2   /* failed syncs of files and of the directory */
#endif

/* Properties. With ONLY a variant is held against one of them, so that it fails for the reason it is kept for. */
#define KEPT 1         /* no acknowledged event is lost */
#define ONCE 2         /* no event is there twice */
#define STAYS 3        /* what was served once is served ever after */
#define ONE_CONTENT 4  /* an offset never names two contents */
#define ON_DISK 5      /* what is served is on the disk: no failed sync is believed, also not on retry */
#define NO_ALARM 6     /* crashes and failed syncs are never taken for corruption */
#define ENOUGH 7       /* the bounds on files and places cut no behaviour off */
#ifndef ONLY
#define ONLY 0
#endif
#define must(property, condition) assert((condition) || (ONLY != 0 && ONLY != property))

/* What a place of a file holds. Place 0 is the header. A frame names its events (one bit each; they stand in it in order of their numbers)
   and the durable offset known when it was written. */
#define NOTHING 0
#define HEADER 1
#define TORN 255
#define WIDTH (PLACES + 1)
#define at(file, place) ((file) * WIDTH + (place))
#define ALL_EVENTS ((1 << EVENTS) - 1)
#define events_frame(set, durable) ((set) | (durable) << 4)
#define mark_frame(durable) (128 | (durable) << 4)
#define close_frame(durable) (129 | (durable) << 4)
#define is_frame(content) ((content) != NOTHING && (content) != TORN)
#define has_events(content) ((content) < 128)
#define is_close(content) ((content) >= 128 && ((content) & 1))
#define durable_in(content) (((content) >> 4) & 7)
#define NONE FILES
#define NO_LIMIT 99
#ifdef PIN_IGNORED
#define PINNED_END(offset) NO_LIMIT
#else
#define PINNED_END(offset) (offset)
#endif

/* The disk. A place is dirty while the page cache has what no sync has been asked for; after a failed sync it is clean, whatever the disk got. */
byte cache[FILES * WIDTH];
byte disk[FILES * WIDTH];
byte dirty[FILES];
bool named[FILES];     /* the name is there as this boot sees it */
bool lasting[FILES];   /* ... and on the disk */
#ifdef DIRECTORY_FORGETS
bool forgotten[FILES]; /* a failed sync has dropped the change of the name */
#endif
byte base[FILES];      /* of the header: offset of the first event */
byte pinned[FILES];    /* of the header: the segment before, which ends at the base */
byte replaced[FILES];  /* of the header: the segment of the same base that this one stands in for */

/* The writer's memory. */
byte current = NONE;
byte place;            /* where the next frame goes */
byte durable;          /* offset: everything below is synced and visible */
bool failed;           /* the current file must not be written again */
bool found_close;      /* the frame before `place` is a close frame of an earlier process */
byte fresh = NONE;     /* a file that is being made, and where its next frame goes */
byte fresh_place;
byte known;            /* events that were ever submitted */
byte there;            /* events that readers see */
byte gathering;        /* events that wait for the next frame */
byte frame;            /* events of the frame that is being committed */
byte newest = NONE;    /* what recovery goes by */
byte leftovers;
byte kind;             /* of `newest`: */
#define CLOSED 1       /* ends in a close frame */
#define UNUSED 2       /* holds nothing */
#define UNCLEAN 3
bool done_well;        /* how the last step ended */
byte step_file, step_place;

/* What the world remembers. */
byte acknowledged;
byte shown[EVENTS + 1];  /* by offset: the first event that was ever served there, from 1 */
byte crashes, faults;

/* Only within one step. */
hidden byte i, j, k, n, end_offset, end_place, frames, said_durable, chain;
hidden byte closed, has_tail, is_on_disk;
hidden byte content[2 * EVENTS + 8];
hidden byte ends[FILES], holds[FILES], says[FILES];

/* For reading a counterexample: the files, after each step that changes them. Prints nothing while Spin searches. */
inline picture() {
  for (j : 0 .. FILES - 1) {
    if
    :: named[j] || lasting[j] || j == fresh ->
       printf("    file %d base %d pinned %d replaces %d named %d lasting %d cache", j, base[j], pinned[j], replaced[j], named[j], lasting[j]);
       for (i : 1 .. PLACES) { printf(" %d", cache[at(j, i)]) }
       printf(" disk");
       for (i : 1 .. PLACES) { printf(" %d", disk[at(j, i)]) }
       printf(" dirty %d\n", dirty[j])
    :: else
    fi
  }
}

/* Reads the frames of a file up to an offset: into `content`, `end_offset`, `end_place`, `frames`, `said_durable`, `closed`, `has_tail`. */
inline scan(file, limit) {
  end_offset = base[file]; end_place = 1; frames = 0; said_durable = base[file]; closed = false; has_tail = false;
  do
  :: end_place <= PLACES && end_offset < limit && is_frame(cache[at(file, end_place)]) ->
     k = cache[at(file, end_place)];
     if :: durable_in(k) > said_durable -> said_durable = durable_in(k) :: else fi;
     if
     :: has_events(k) ->
        closed = false;
        for (i : 0 .. EVENTS - 1) { if :: k & (1 << i) -> content[end_offset] = i + 1; end_offset++ :: else fi }
     :: else -> closed = is_close(k)
     fi;
     frames++; end_place++
  :: else -> break
  od;
  for (i : end_place .. PLACES) {
    k = cache[at(file, i)];
    if :: k != NOTHING -> has_tail = true :: else fi;
    if :: is_frame(k) && limit == NO_LIMIT && durable_in(k) > said_durable -> said_durable = durable_in(k) :: else fi
  }
}

/* A file that has no name any more is gone; its number may be used again. That others named it as replaced counts only for two of them. */
inline forget(file) {
  n = 0;
  for (i : 0 .. FILES - 1) { if :: replaced[i] == file -> n++ :: else fi }
  for (i : 0 .. FILES - 1) { if :: n == 1 && replaced[i] == file -> replaced[i] = NONE :: else fi }
  for (i : 0 .. FILES - 1) { if :: pinned[i] == file -> pinned[i] = NONE :: else fi }
  for (i : 0 .. PLACES) { cache[at(file, i)] = NOTHING; disk[at(file, i)] = NOTHING }
#ifdef DIRECTORY_FORGETS
  forgotten[file] = false;
#endif
  dirty[file] = 0; base[file] = 0; pinned[file] = NONE; replaced[file] = NONE
}

inline forget_process() {
  if :: fresh != NONE && !named[fresh] && !lasting[fresh] -> forget(fresh) :: else fi;
  fresh = NONE; fresh_place = 0; current = NONE; place = 0; durable = 0; failed = false; found_close = false; gathering = 0; frame = 0;
  newest = NONE; leftovers = 0; kind = 0; done_well = false
}

inline lose_or_keep(file, spot) {
  if
  :: disk[at(file, spot)] = cache[at(file, spot)]
  :: skip
  :: disk[at(file, spot)] = TORN
  fi
}

/* Of what was not synced, any subset of places and names survives. */
inline power_cut() {
  step_file = 0;
  do
  :: step_file < FILES ->
     step_place = 0;
     do
     :: step_place <= PLACES ->
        if
        :: (dirty[step_file] & (1 << step_place)) && cache[at(step_file, step_place)] != disk[at(step_file, step_place)] ->
           lose_or_keep(step_file, step_place)
        :: else
        fi;
        step_place++
     :: else -> break
     od;
     if
     :: named[step_file] != lasting[step_file] -> if :: lasting[step_file] = named[step_file] :: skip fi
     :: else
     fi;
     step_file++
  :: else -> break
  od;
  step_file = 0; step_place = 0;
  d_step {
    forget_process();
    for (j : 0 .. FILES - 1) {
      dirty[j] = 0;
      for (i : 0 .. PLACES) { cache[at(j, i)] = disk[at(j, i)] }
      named[j] = lasting[j];
      if :: !named[j] -> forget(j) :: else fi
    }
  }
}

inline may_crash() {
  if
  :: skip
  :: crashes < CRASHES -> crashes++; goto opening
  :: crashes < CRASHES -> crashes++; goto cut
  fi
}

inline write(file, spot, what) { cache[at(file, spot)] = what; dirty[file] = dirty[file] | (1 << (spot)) }

/* A failed sync has written any part of what was dirty; the page cache calls it clean, and keeps it or has dropped it. */
inline sync_file(file) {
  if
  :: d_step {
       for (i : 0 .. PLACES) { if :: dirty[file] & (1 << i) -> disk[at(file, i)] = cache[at(file, i)] :: else fi }
       dirty[file] = 0; done_well = true; printf("file %d synced\n", file)
     }
  :: faults < FAULTS ->
     faults++; step_place = 0;
     do
     :: step_place <= PLACES ->
        if
        :: (dirty[file] & (1 << step_place)) && cache[at(file, step_place)] != disk[at(file, step_place)] -> lose_or_keep(file, step_place)
        :: else
        fi;
        step_place++
     :: else -> break
     od;
     step_place = 0;
     if
     :: skip
     :: d_step { for (i : 0 .. PLACES) { if :: dirty[file] & (1 << i) -> cache[at(file, i)] = disk[at(file, i)] :: else fi } }
     fi;
     dirty[file] = 0; done_well = false; printf("sync of file %d fails\n", file); d_step { picture(); skip }
  fi
}

/* What a failed sync of the directory left out stays to be done. */
#ifdef DIRECTORY_FORGETS
#define NAME_STAYS_BEHIND forgotten[step_file] = true
#else
#define NAME_STAYS_BEHIND skip
#endif
inline sync_directory() {
  if
  :: d_step {
       for (j : 0 .. FILES - 1) {
#ifdef DIRECTORY_FORGETS
         if
         :: forgotten[j]
         :: else ->
#endif
         if :: lasting[j] && !named[j] -> lasting[j] = false; forget(j) :: else lasting[j] = named[j] fi
#ifdef DIRECTORY_FORGETS
         fi
#endif
       }
       done_well = true
     }
  :: faults < FAULTS ->
     faults++; step_file = 0;
     do
     :: step_file < FILES ->
        if
        :: named[step_file] && !lasting[step_file] -> if :: lasting[step_file] = true :: NAME_STAYS_BEHIND fi
        :: lasting[step_file] && !named[step_file] -> if :: d_step { lasting[step_file] = false; forget(step_file) } :: NAME_STAYS_BEHIND fi
        :: else
        fi;
        step_file++
     :: else -> break
     od;
     step_file = 0; done_well = false; printf("sync of the directory fails\n")
  fi
}

inline remove(file) { printf("file %d removed\n", file); named[file] = false; if :: !lasting[file] -> forget(file) :: else fi }

#define replaces_whole (failed && durable == base[current])

#define counts(file) (named[file] && !(leftovers & (1 << file)))
#define leave(file) leftovers = leftovers | (1 << file)
#ifdef REPLACED_BY_REACH
#define lost_part(new, old) true
#else
#define lost_part(new, old) (says[new] > ends[new] || (holds[new] == 0 && says[old] > base[old]))
#endif

/* Of files with one base, which counts; then the chain. Leaves `newest`, its `kind`, and `leftovers`. */
inline analyse() {
  for (j : 0 .. FILES - 1) {
    if :: named[j] -> scan(j, NO_LIMIT); ends[j] = end_offset; says[j] = said_durable; holds[j] = frames + has_tail :: else fi
  }
  /* One that replaces another counts, unless the disk has lost part of it and the other reaches further. */
  for (j : 0 .. FILES - 1) {
    k = replaced[j];
    if
    :: named[j] && k != NONE ->
       if
       :: counts(k) && base[k] == base[j] -> if :: lost_part(j, k) && ends[j] < ends[k] -> leave(j) :: else -> leave(k) fi
       :: else
       fi
    :: else
    fi
  }
  for (j : 0 .. FILES - 1) {
    for (k : 0 .. FILES - 1) {
      if
      :: j != k && counts(j) && counts(k) && base[j] == base[k] ->
         /* Of several that replace one, the one that goes furthest. */
         if
         :: replaced[j] != NONE && replaced[j] == replaced[k] -> if :: ends[j] < ends[k] -> leave(j) :: else -> leave(k) fi
         :: else
         fi
      :: else
      fi
    }
  }
  for (j : 0 .. FILES - 1) {
    for (k : 0 .. FILES - 1) {
      /* One that holds nothing is left over from a roll that was done again. */
      if :: j != k && counts(j) && counts(k) && base[j] == base[k] && holds[j] == 0 -> leave(j) :: else fi
    }
  }
  newest = NONE;
  for (j : 0 .. FILES - 1) {
    if
    :: counts(j) -> if :: newest == NONE -> newest = j :: newest != NONE && base[j] > base[newest] -> newest = j :: else fi
    :: else
    fi
  }
  must(NO_ALARM, newest != NONE);
  must(KEPT, newest != NONE || acknowledged == 0);
  if
  :: newest != NONE ->
     /* All but the newest end where their successor says, and nothing else is there. */
     j = newest; chain = 1 << newest;
     do
     :: base[j] > 0 && pinned[j] != NONE ->
        must(NO_ALARM, counts(pinned[j]));
        chain = chain | (1 << pinned[j]);
        scan(pinned[j], base[j]);
        must(NO_ALARM, end_offset == base[j]);
        j = pinned[j]
     :: else -> break
     od;
     must(NO_ALARM, base[j] == 0);
     for (j : 0 .. FILES - 1) { must(NO_ALARM, !named[j] || ((leftovers | chain) & (1 << j))) }
     must(NO_ALARM, says[newest] <= ends[newest]);
     scan(newest, NO_LIMIT);
     if
     :: closed && !has_tail -> kind = CLOSED
     :: holds[newest] == 0 -> kind = UNUSED
     :: else -> kind = UNCLEAN
     fi
  :: else
  fi
}

/* What is durable is shown to readers: what they see is held against the properties. Leaves the events that are there in `there`. */
inline serve() {
  for (i : 0 .. 2 * EVENTS + 7) { content[i] = 0 }
  n = current; chain = durable; is_on_disk = true;
  do
  :: n != NONE ->
     scan(n, chain);
     for (j : 0 .. end_place - 1) { if :: cache[at(n, j)] != disk[at(n, j)] -> is_on_disk = false :: else fi }
     if :: !lasting[n] -> is_on_disk = false :: else fi;
     chain = PINNED_END(base[n]); n = pinned[n]
  :: else -> break
  od;
  printf("serving up to %d, acknowledged %d:", durable, acknowledged);
  for (i : 0 .. durable - 1) { printf(" %d", content[i]) }
  printf("\n");
  must(ON_DISK, is_on_disk);
  there = 0;
  for (i : 0 .. durable - 1) {
    if
    :: content[i] > 0 ->
       must(ONCE, !(there & (1 << (content[i] - 1))));
       there = there | (1 << (content[i] - 1))
    :: else
    fi
  }
  must(KEPT, (acknowledged & ~there) == 0);
  for (i : 0 .. EVENTS) {
    must(STAYS, shown[i] == 0 || (i < durable && content[i] != 0));
    must(ONE_CONTENT, shown[i] == 0 || i >= durable || content[i] == 0 || content[i] == shown[i]);
    if :: i < durable -> shown[i] = content[i] :: else fi
  }
}

inline directory_synced() {
  atomic { sync_directory(); may_crash(); if :: !done_well -> goto opening :: else done_well = false fi }
}

inline remove_leftovers() {
  if
  :: leftovers != 0 ->
     do
     :: atomic { leftovers != 0 ->
          d_step {
            j = 0;
            do :: !(leftovers & (1 << j)) -> j++ :: else -> break od;
            leftovers = leftovers & ~(1 << j);
            remove(j)
          }
          may_crash()
        }
     :: else -> break
     od;
     directory_synced()
  :: else
  fi
}

/* Callers come: any of those who have no answer yet and are not in the frame. They are all alike, so they come for the first time in order. */
inline arrive() {
  step_place = 0;
  do
  :: step_place < EVENTS ->
     if
     :: !((acknowledged | frame) & (1 << step_place)) && step_place <= known ->
        if
        :: gathering = gathering | (1 << step_place); if :: step_place == known -> known++ :: else fi
        :: skip
        fi
     :: else
     fi;
     step_place++
  :: else -> break
  od;
  step_place = 0
}

inline committed() {
  for (j : 0 .. EVENTS - 1) { if :: frame & (1 << j) -> durable++ :: else fi }
  place++
}

#ifdef DURABLE_TOO_EARLY
#define NAMED_DURABLE (durable + 1)
#else
#define NAMED_DURABLE durable
#endif
#ifdef CLOSE_AGAIN
#define MAY_CLOSE true
#else
#define MAY_CLOSE !found_close
#endif

#if defined(FOUND_NAME_TRUSTED)
#define trusts_names (kind == UNUSED && leftovers == 0)
#elif defined(CLOSED_NAME_TRUSTED)
#define trusts_names (kind == CLOSED && leftovers == 0)
#elif defined(REWRITE_BEFORE_DIRECTORY)
#define trusts_names (kind == UNCLEAN && leftovers == 0)
#elif defined(LEFTOVERS_REMOVED_AT_ONCE)
#define trusts_names (leftovers != 0)
#else
#define trusts_names false
#endif

#define has_room (place < PLACES || durable == base[current])

init {
  d_step {
    for (j : 0 .. FILES - 1) { pinned[j] = NONE; replaced[j] = NONE }
    cache[0] = HEADER; disk[0] = HEADER; named[0] = true; lasting[0] = true;
#ifdef STARTS_CLOSED
    cache[1] = events_frame(1, 0); disk[1] = cache[1]; cache[2] = close_frame(1); disk[2] = cache[2];
    known = 1; acknowledged = 1; shown[0] = 1
#endif
  }
  goto opening;

cut:
  atomic { power_cut(); printf("power cut\n"); d_step { picture(); skip } }

opening:
  atomic {
    d_step {
      forget_process(); analyse();
      printf("opening: newest %d kind %d leftovers %d\n", newest, kind, leftovers); picture(); skip
    }
  }
  /* Names first. What was found may have got its name a moment before the crash; one that a failed roll took back may still be on the disk. */
  if
  :: trusts_names
  :: !trusts_names -> directory_synced()
  fi;
#ifndef DOUBLES_REMOVED_LAST
  remove_leftovers();
#endif
  if
  :: kind != UNCLEAN
  :: kind == UNCLEAN ->
#if defined(SERVE_WITHOUT_REWRITE) || defined(TAIL_LEFT)
     goto going_on;
#endif
#ifdef OLD_REMOVED_FIRST
     atomic { named[newest] = false; may_crash() };
#endif
     goto making;
rewritten:
     atomic { named[newest] = false; printf("file %d removed\n", newest); may_crash() }
     directory_synced();
     atomic { newest = fresh; fresh = NONE; fresh_place = 0 };
#ifdef DOUBLES_REMOVED_LAST
     remove_leftovers()
#endif
  fi;

going_on:
  atomic {
    d_step {
      /* It is whole and durable: go on in it. */
      scan(newest, NO_LIMIT);
      current = newest; place = end_place; durable = end_offset; found_close = closed;
      newest = NONE; kind = 0; done_well = false; printf("going on in file %d\n", current)
    }
  }

serving:
  atomic { d_step { serve(); skip } }
end:
  if
  :: atomic { acknowledged != ALL_EVENTS -> arrive();
       d_step {
         /* An event that is there already, under its id, is answered and not appended again. */
#ifndef NO_LOOKUP
         acknowledged = acknowledged | (gathering & there);
         gathering = gathering & ~there;
#endif
         there = 0; frame = gathering; gathering = 0
       }
       if
       :: frame == 0 -> goto serving
       :: frame != 0 && (failed || !has_room) -> goto making
       :: frame != 0 && !failed && has_room -> goto committing
       fi
     }
  :: atomic { crashes < CRASHES -> there = 0; crashes++; if :: goto opening :: goto cut fi }
  :: atomic { crashes < CRASHES && !failed && MAY_CLOSE && place > 1 && place <= PLACES ->
       there = 0;
       write(current, place, close_frame(durable)); printf("closing\n");
#ifdef CLOSE_AGAIN
       if :: found_close -> dirty[current] = dirty[current] | (1 << (place - 1)) :: else fi;
#endif
       may_crash()
     }
     atomic { sync_file(current); crashes++; goto opening }
  fi;

making:
  /* Makes a file. In recovery: one that stands in for `newest`, with what that holds and a mark. In the writer: one that follows `current`, or
     stands in for it if that failed and holds nothing durable. It gets its name when it is synced, and is used when the name is durable. On
     failure nothing stays, as far as the disk allows. */
  atomic {
    d_step {
      fresh = NONE;
      for (j : 0 .. FILES - 1) {
        n = 0;
        for (i : 0 .. FILES - 1) { if :: replaced[i] == j -> n++ :: else fi }
        if :: fresh == NONE && !named[j] && !lasting[j] && n < 2 && j != current -> fresh = j :: else fi
      }
      must(ENOUGH, fresh != NONE);
      for (i : 0 .. FILES - 1) { if :: replaced[i] == fresh -> replaced[i] = NONE :: else fi }
      printf("file %d made for %d, newest %d\n", fresh, current, newest);
      write(fresh, 0, HEADER);
      fresh_place = 1;
      if
      :: newest != NONE ->
         base[fresh] = base[newest]; pinned[fresh] = pinned[newest]; replaced[fresh] = newest;
         scan(newest, NO_LIMIT);
         for (i : 1 .. end_place - 1) {
           k = cache[at(newest, i)];
           if :: has_events(k) -> write(fresh, fresh_place, k); fresh_place++ :: else fi
         }
         must(ENOUGH, fresh_place <= PLACES);
         write(fresh, fresh_place, mark_frame(end_offset)); fresh_place++
      :: newest == NONE && replaces_whole -> base[fresh] = durable; pinned[fresh] = pinned[current]; replaced[fresh] = current
      :: newest == NONE && !replaces_whole -> base[fresh] = durable; pinned[fresh] = current
      fi
    }
    may_crash()
  }
#ifndef FRESH_NOT_SYNCED
  atomic { sync_file(fresh); may_crash() }
#else
  atomic { done_well = true }
#endif
  if
  :: atomic { done_well ->
       done_well = false;
       if :: current != NONE -> failed = true :: else fi;  /* from here on a successor may be there after a crash */
       named[fresh] = true; printf("file %d has its name\n", fresh);
       may_crash()
     }
#ifndef NO_DIRECTORY_SYNC
     atomic {
       sync_directory();
       if :: !done_well -> d_step { remove(fresh); fresh = NONE; fresh_place = 0 } :: else fi;
       may_crash()
     }
#else
     done_well = true
#endif
  :: atomic { else -> d_step { forget(fresh); fresh = NONE; fresh_place = 0 } }
  fi;
  if
  :: newest != NONE -> if :: done_well -> goto rewritten :: else -> goto opening fi
  :: atomic { newest == NONE && done_well ->
       d_step {
         done_well = false;
         if :: replaced[fresh] == current -> remove(current) :: else fi;
         current = fresh; place = fresh_place; failed = false; found_close = false; fresh = NONE; fresh_place = 0
       }
       may_crash()
     }
  :: atomic { newest == NONE && !done_well -> frame = 0; goto serving }
  fi;

committing:
  atomic {
    write(current, place, events_frame(frame, NAMED_DURABLE)); printf("frame of %d at place %d of file %d\n", frame, place, current);
#ifndef CLOSE_TRUSTED
    /* Its sync may have failed, and the page cache alone may have it. */
    if :: found_close -> dirty[current] = dirty[current] | (1 << (place - 1)) :: else fi;
#endif
    found_close = false;
#ifdef ACK_BEFORE_SYNC
    d_step { acknowledged = acknowledged | frame; committed(); skip }
#endif
#ifdef SHOW_BEFORE_SYNC
    d_step { step_place = durable; committed(); serve(); there = 0; durable = step_place; step_place = 0; place-- }
#endif
    arrive();
    may_crash()
  }
  atomic {
#ifdef NO_SYNC
    done_well = true;
#else
    sync_file(current);
#endif
#ifdef RETRY_FAILED_SYNC
    if :: !done_well -> sync_file(current) :: else fi;
#endif
    if
    :: done_well ->
       d_step {
         done_well = false;
#ifndef ACK_BEFORE_SYNC
         acknowledged = acknowledged | frame;
         committed();
#endif
#ifdef ACK_GATHERED
         acknowledged = acknowledged | gathering;
#endif
         skip
       }
    :: else ->
#ifdef WRITE_ON_AFTER_FAILURE
       place++
#else
       failed = true
#endif
    fi;
    frame = 0; goto serving
  }
}
