import type { CallRequest, CallResponse } from '../../http/call-messages.ts';
import type { WireExchange } from './wire-exchange.ts';
import { WireRequest } from './wire-request.ts';
import { WireResponse } from './wire-response.ts';

const CONTINUE = /(?:^|\W)100-continue(?:$|\W)/i;

/**
 * Serves an exchange with a handler of requests. Its body has to arrive in time (http/slow-bodies.ts). `Expect` is answered
 * as node does. `lines`: of every response's head.
 */
export function answerOnWire(
  exchange: WireExchange,
  url: string,
  lines: string,
  handle: (req: CallRequest, res: CallResponse) => void,
): void {
  const expected = exchange.minorVersion === 1 ? exchange.headers.get('expect') : undefined;
  if (expected !== undefined) {
    if (!CONTINUE.test(expected)) {
      exchange.answer(417, 'Expectation Failed', [], '');
      return;
    }
    exchange.inform(100, 'Continue', []);
  }
  if (!exchange.isBodyRead) exchange.connection.watchBody();
  const req = new WireRequest(exchange, url);
  handle(req, new WireResponse(exchange, req, lines));
}
