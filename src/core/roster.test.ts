import fc from 'fast-check';
import { expect, test } from 'vitest';
import { Roster } from './roster.ts';

const member = (name: number) => ({ name, place: -1 });

test('has exactly the members that were added and not deleted since', () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.boolean(), fc.integer({ min: 0, max: 7 })), { maxLength: 60 }), (steps) => {
      const members = Array.from({ length: 8 }, (_, name) => member(name));
      const roster = new Roster<ReturnType<typeof member>>();
      const model = new Set<ReturnType<typeof member>>();
      for (const [isAdded, name] of steps) {
        const one = members[name]!;
        if (isAdded) {
          roster.add(one);
          model.add(one);
        } else expect(roster.delete(one)).toBe(model.delete(one));
      }
      expect(roster.size).toBe(model.size);
      expect(new Set(roster)).toEqual(model);
      for (const one of members) expect(roster.has(one)).toBe(model.has(one));
    }),
  );
});

test('does not take the member of another roster for its own', () => {
  const [one, other] = [new Roster<ReturnType<typeof member>>(), new Roster<ReturnType<typeof member>>()];
  const [a, b] = [member(1), member(2)];
  one.add(a);
  other.add(b);
  expect(other.has(a)).toBe(false);
  expect(other.delete(a)).toBe(false);
  expect([...other]).toEqual([b]);
});
