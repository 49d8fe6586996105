/** The image of the containers that hold networks: one program, which waits for ever and needs nothing of a machine but its kernel. */
import type { Engine } from '../../../engine/engine.ts';
import { importImage } from './import-image.ts';

export const HOLDER_IMAGE = 'podyard/network-holder:1';
export const HOLDER_PROGRAM = '/hold';

interface Code {
  /** ELF's number of the architecture. */
  machine: number;
  instructions: string;
}

/** By the engine's name of the architecture. */
const CODES: Readonly<Record<string, Code>> = {
  // pause(), in a loop: mov eax, 34; syscall; jmp back
  x86_64: { machine: 62, instructions: 'b8220000000f05ebf7' },
  // ppoll(0, 0, 0, 0), in a loop: mov x0 … x3, 0; mov x8, 73; svc 0; b back
  aarch64: { machine: 183, instructions: '000080d2010080d2020080d2030080d2280980d2010000d4faffff17' },
};

/** True when there is a program for machines of this architecture. */
export function hasHolderProgram(architecture: string): boolean {
  return Object.hasOwn(CODES, architecture);
}

/** Makes the image. `architecture` must have a program. */
export async function importHolderImage(engine: Engine, architecture: string): Promise<void> {
  const program = { path: HOLDER_PROGRAM.slice(1), content: programFor(CODES[architecture]!), mode: 0o755 };
  await importImage(engine, HOLDER_IMAGE, [program]);
}

const LOADED_AT = 0x400000n;
const HEADERS = 120;

/** Returns a static ELF program: its two headers, then the instructions. */
function programFor({ machine, instructions }: Code): Buffer {
  const code = Buffer.from(instructions, 'hex');
  const file = Buffer.alloc(HEADERS + code.length);
  file.write('7f454c46020101', 0, 'hex'); // 64 bits, little-endian, version 1
  file.writeUInt16LE(2, 16); // an executable
  file.writeUInt16LE(machine, 18);
  file.writeUInt32LE(1, 20);
  file.writeBigUInt64LE(LOADED_AT + BigInt(HEADERS), 24); // where it begins
  file.writeBigUInt64LE(64n, 32); // where the program headers are
  file.writeUInt16LE(64, 52); // the size of this header
  file.writeUInt16LE(56, 54); // that of a program header
  file.writeUInt16LE(1, 56); // how many there are
  file.writeUInt32LE(1, 64); // to be loaded
  file.writeUInt32LE(5, 68); // read and execute
  file.writeBigUInt64LE(LOADED_AT, 80);
  file.writeBigUInt64LE(LOADED_AT, 88);
  file.writeBigUInt64LE(BigInt(file.length), 96);
  file.writeBigUInt64LE(BigInt(file.length), 104);
  file.writeBigUInt64LE(0x1000n, 112);
  code.copy(file, HEADERS);
  return file;
}
