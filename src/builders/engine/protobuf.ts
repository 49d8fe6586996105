/**
 * The few parts of Protocol Buffers that a build needs: the engine's messages are read field by field, and the answers have
 * strings alone. A library would be larger than what it replaces.
 */

/** A varint, or the bytes of a string or a message. */
export type Field = [number: number, value: number | Buffer];

const VARINT = 0;
const EIGHT_BYTES = 1;
const DELIMITED = 2;
const FOUR_BYTES = 5;

/** Yields the fields of a message in order; those of a fixed width are left out. Throws RangeError on a malformed one. */
export function* readFields(message: Buffer): Generator<Field> {
  let at = 0;
  const readVarint = () => {
    let value = 0;
    for (let factor = 1; ; factor *= 128) {
      const byte = message.readUInt8(at++);
      value += (byte & 127) * factor;
      if (byte < 128) return value;
    }
  };
  while (at < message.length) {
    const tag = readVarint();
    const [field, type] = [Math.floor(tag / 8), tag % 8];
    if (type === VARINT) {
      yield [field, readVarint()];
    } else if (type === DELIMITED) {
      const length = readVarint();
      if (length > message.length - at) throw new RangeError('a field ends after its message');
      at += length;
      yield [field, message.subarray(at - length, at)];
    } else if (type === EIGHT_BYTES) at += 8;
    else if (type === FOUR_BYTES) at += 4;
    else throw new RangeError(`a field has the unknown type ${type}`);
  }
}

/** Returns the first field of this number as text; empty when there is none. */
export function readText(message: Buffer, number: number): string {
  for (const [field, value] of readFields(message))
    if (field === number && typeof value !== 'number') return value.toString();
  return '';
}

/** Returns a message of texts, by the numbers of their fields. */
export function writeTexts(texts: Readonly<Record<number, string>>): Buffer {
  const parts = Object.entries(texts).flatMap(([number, text]) => {
    const bytes = Buffer.from(text);
    return [writeVarint(Number(number) * 8 + DELIMITED), writeVarint(bytes.length), bytes];
  });
  return Buffer.concat(parts);
}

function writeVarint(value: number): Buffer {
  const bytes: number[] = [];
  for (let rest = value; ; rest = Math.floor(rest / 128)) {
    if (rest < 128) return Buffer.from([...bytes, rest]);
    bytes.push((rest % 128) + 128);
  }
}
