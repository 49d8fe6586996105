import { expect, test } from 'vitest';
import { parseListeners } from './group-listeners.ts';

const HEADER = '  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n';
const line = (local: string, state: string, inode: number) =>
  `   0: ${local} 00000000:0000 ${state} 00000000:00000000 00:00000000 00000000     0        0 ${inode} 1 0000 100 0 0 10 0\n`;

test.skipIf(new Uint8Array(new Uint32Array([1]).buffer)[0] !== 1)(
  'listening sockets of a port are parsed with the address to connect to',
  () => {
    const text =
      HEADER +
      line('00000000:1F90', '0A', 11) +
      line('0100007F:1F90', '01', 12) +
      line('0700007F:1F90', '0A', 13) +
      line('00000000:0050', '0A', 14);
    expect(parseListeners(text, 8080)).toEqual([
      { host: '127.0.0.1', inode: '11' },
      { host: '127.0.0.7', inode: '13' },
    ]);
    const six =
      HEADER +
      line('00000000000000000000000001000000:1F90', '0A', 21) +
      line('0000000000000000FFFF00000100007F:1F90', '0A', 22) +
      line('B80D0120000000000000000001000000:1F90', '0A', 23);
    expect(parseListeners(six, 8080)).toEqual([
      { host: '0:0:0:0:0:0:0:1', inode: '21' },
      { host: '127.0.0.1', inode: '22' },
      { host: '2001:db8:0:0:0:0:0:1', inode: '23' },
    ]);
    expect(parseListeners('', 8080)).toEqual([]);
  },
);
