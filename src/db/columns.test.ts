import { expect, test } from 'vitest';
import {
  assignments,
  type ColumnMap,
  column,
  fixedColumn,
  insertedRow,
  insertValues,
  jsonColumn,
  selectList,
  updatedRow,
} from './columns.ts';

interface Shelf {
  id: string;
  ownerId: string;
  labels: Record<string, string> | null;
  size: { width: number; height: number };
  createdAt: Date;
}
const COLUMNS = {
  id: fixedColumn('id'),
  ownerId: column('owner_id'),
  labels: jsonColumn('labels'),
  size: {
    read: "json_build_object('width', width, 'height', height)",
    write: ({ width, height }) => ({ width, height }),
  },
  createdAt: { read: 'created_at' },
} satisfies ColumnMap<Shelf>;
const shelf = { id: 's1', ownerId: 'u1', labels: { a: 'b' }, size: { width: 2, height: 3 } };

test('a select yields every member under its name', () => {
  expect(selectList(COLUMNS)).toBe(
    'id, owner_id as "ownerId", labels, ' +
      'json_build_object(\'width\', width, \'height\', height) as "size", created_at as "createdAt"',
  );
});

test('an insert writes what is stored, an update only what may change', () => {
  const changeable = { owner_id: 'u1', labels: '{"a":"b"}', width: 2, height: 3 };
  expect(insertedRow(COLUMNS, shelf)).toEqual({ id: 's1', ...changeable });
  expect(updatedRow(COLUMNS, shelf)).toEqual(changeable);
  expect(updatedRow(COLUMNS, { ...shelf, labels: null }).labels).toBeNull();
});

test('a member without a place, or with one that cannot hold it, does not compile', () => {
  const { size: _, ...incomplete } = COLUMNS;
  // @ts-expect-error: size has no place
  const forgotten = incomplete satisfies ColumnMap<Shelf>;
  // @ts-expect-error: an object is not a value of a column
  const wrong = { ...COLUMNS, size: column('size') } satisfies ColumnMap<Shelf>;
  // @ts-expect-error: the record lacks a member that is stored
  const insert = () => insertedRow(COLUMNS, { id: 's1', ownerId: 'u1', labels: null });
  expect([forgotten, wrong, insert]).toHaveLength(3);
});

test('placeholders are numbered from where the row’s values are bound', () => {
  const row = { a: 1, b: null };
  expect(insertValues(row)).toBe('(a, b) values ($1, $2)');
  expect(assignments(row, 4)).toBe('a = $4, b = $5');
});
