import { crc32 } from 'node:zlib';

/** Checksums of S3 that Node.js lacks: CRC-32C (RFC 3720) and CRC-64/NVME, both reflected, of bytes as they come. */
export interface Checksum {
  update(bytes: Buffer): void;
  /** In base 64, as S3 sends it. */
  digest(): string;
}

export class Crc32 implements Checksum {
  #value = 0;

  update(bytes: Buffer): void {
    this.#value = crc32(bytes, this.#value);
  }

  digest(): string {
    return toBase64(this.#value);
  }
}

export class Crc32c implements Checksum {
  #value = 0xffffffff;

  update(bytes: Buffer): void {
    const table = crc32cTable();
    let value = this.#value;
    for (let i = 0; i < bytes.length; i++) value = table[(value ^ bytes[i]!) & 0xff]! ^ (value >>> 8);
    this.#value = value;
  }

  digest(): string {
    return toBase64(~this.#value);
  }
}

export class Crc64Nvme implements Checksum {
  #low = 0xffffffff;
  #high = 0xffffffff;

  update(bytes: Buffer): void {
    const { low: lows, high: highs } = crc64Tables();
    let [low, high] = [this.#low, this.#high];
    for (let i = 0; i < bytes.length; i++) {
      const at = (low ^ bytes[i]!) & 0xff;
      low = ((low >>> 8) | (high << 24)) ^ lows[at]!;
      high = (high >>> 8) ^ highs[at]!;
    }
    this.#low = low;
    this.#high = high;
  }

  digest(): string {
    const bytes = Buffer.alloc(8);
    bytes.writeInt32BE(~this.#high, 0);
    bytes.writeInt32BE(~this.#low, 4);
    return bytes.toString('base64');
  }
}

function toBase64(value: number): string {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32BE(value | 0);
  return bytes.toString('base64');
}

const CRC32C_POLYNOMIAL = 0x82f63b78;
const CRC64_POLYNOMIAL = 0x9a6c9329ac4bc9b5n;

let crc32cTableMade: Int32Array | undefined;

function crc32cTable(): Int32Array {
  if (crc32cTableMade) return crc32cTableMade;
  crc32cTableMade = new Int32Array(256);
  for (let i = 0; i < 256; i++) {
    let value = i;
    for (let bit = 0; bit < 8; bit++) value = value & 1 ? (value >>> 1) ^ CRC32C_POLYNOMIAL : value >>> 1;
    crc32cTableMade[i] = value;
  }
  return crc32cTableMade;
}

let crc64TablesMade: { low: Int32Array; high: Int32Array } | undefined;

function crc64Tables(): { low: Int32Array; high: Int32Array } {
  if (crc64TablesMade) return crc64TablesMade;
  const tables = { low: new Int32Array(256), high: new Int32Array(256) };
  for (let i = 0; i < 256; i++) {
    let value = BigInt(i);
    for (let bit = 0; bit < 8; bit++) value = value & 1n ? (value >> 1n) ^ CRC64_POLYNOMIAL : value >> 1n;
    tables.low[i] = Number(value & 0xffffffffn) | 0;
    tables.high[i] = Number(value >> 32n) | 0;
  }
  crc64TablesMade = tables;
  return tables;
}
