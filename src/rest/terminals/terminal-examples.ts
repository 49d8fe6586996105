import { CREATED_AT, type Examples, USER_ID } from '../shared/example-values.ts';

const session = {
  id: 't4k8w2n6x1d7bs',
  userId: USER_ID,
  userName: 'alice',
  keyId: 'a1q9w3e7r5t2yu',
  keyName: 'laptop',
  podId: 'p2n6s9x4d8w1bv',
  endpointId: null,
  workerId: null,
  program: 'sh',
  hasTerminal: true,
  status: 'OPEN',
  clientAddress: '203.0.113.7',
  createdAt: CREATED_AT,
  openedAt: CREATED_AT,
  endedAt: null,
  exitCode: null,
  endReason: null,
};

export const TERMINAL_EXAMPLES: Examples = {
  CreatePodTerminalRequest: { terminal: { columns: 120, rows: 40 } },
  CreateWorkerTerminalRequest: { command: ['nvidia-smi'], terminal: null, input: false, workerId: null },
  TerminalSession: session,
  TerminalTicket: {
    session: { ...session, status: 'PENDING', clientAddress: null, openedAt: null },
    url: 'wss://podyard.example.org/v2/account/terminals/connect',
    protocols: ['podyard.terminal.v1', 'ticket.pyt_works_once_within_a_minute'],
  },
  TerminalList: { terminals: [session] },
};
