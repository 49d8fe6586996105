/** A member of a roster: in one at a time. */
interface RosterMember {
  /** Its place in the roster; negative while it is in none. */
  place: number;
}

/**
 * The work in progress: a long-lived set of short-lived objects, in no order. Not a Set: V8 replaces the table of a busy one
 * again and again, and the tables before, once they are old, keep all their former members in memory until the next full
 * collection (docs/decisions/0059-requests-that-stay-young.md).
 */
export class Roster<Member extends RosterMember> implements Iterable<Member> {
  readonly #members: Member[] = [];

  get size(): number {
    return this.#members.length;
  }

  has(member: Member): boolean {
    return member.place >= 0 && this.#members[member.place] === member;
  }

  add(member: Member): void {
    if (!this.has(member)) member.place = this.#members.push(member) - 1;
  }

  /** False if it is not in the roster. */
  delete(member: Member): boolean {
    if (!this.has(member)) return false;
    const last = this.#members.pop()!;
    if (last !== member) {
      this.#members[member.place] = last;
      last.place = member.place;
    }
    member.place = -1;
    return true;
  }

  [Symbol.iterator](): Iterator<Member> {
    return this.#members.values();
  }
}
