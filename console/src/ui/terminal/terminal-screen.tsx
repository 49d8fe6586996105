import '@xterm/xterm/css/xterm.css';
import './terminal.css';
import { FitAddon } from '@xterm/addon-fit';
import { Terminal } from '@xterm/xterm';
import { getNonce } from 'get-nonce';
import { type PointerEvent, useEffect, useRef, useState } from 'react';
import { endText, TerminalConnection, type TerminalEnd } from './terminal-connection.ts';
import { TERMINAL_KEYS, type TerminalKey, withCtrl } from './terminal-keys.ts';

/** Dark in both schemes, as terminals are: programs choose their colors for it. Each is ≥ 4.5:1 on the background. */
const THEME = {
  background: '#16181d',
  foreground: '#e4e6eb',
  cursor: '#e4e6eb',
  selectionBackground: '#3b4252',
  black: '#7d8596',
  red: '#ff7b86',
  green: '#7ddc8b',
  yellow: '#e8c66a',
  blue: '#7fb2ff',
  magenta: '#d59bf0',
  cyan: '#6fd6d6',
  white: '#e4e6eb',
  brightBlack: '#8b93a5',
};

export interface TerminalTicket {
  url: string;
  protocols: string[];
}

/** Shows one session. Another ticket opens another one; removing it ends it. */
export function TerminalScreen({
  ticket,
  onNotice,
  onEnd,
}: {
  ticket: TerminalTicket;
  onNotice: (text: string) => void;
  onEnd: (end: TerminalEnd) => void;
}) {
  const place = useRef<HTMLElement>(null);
  const session = useRef<Session>(null);
  const [isCtrl, setCtrl] = useState(false);
  const ctrl = useRef(isCtrl);
  ctrl.current = isCtrl;
  // biome-ignore lint/correctness/useExhaustiveDependencies: a session lives as long as its ticket is shown
  useEffect(() => {
    const transform = (text: string) => {
      if (!ctrl.current) return text;
      setCtrl(false);
      return withCtrl(text);
    };
    session.current = open(place.current!, ticket, { transform, onNotice, onEnd });
    return () => session.current?.end();
  }, [ticket]);
  return (
    <div className="terminal">
      <section ref={place} className="terminal-screen" aria-label="Terminal screen" />
      <TerminalKeys isCtrl={isCtrl} onCtrl={() => setCtrl(!isCtrl)} press={(key) => session.current?.press(key)} />
    </div>
  );
}

/** For keyboards of phones; hidden where there is a real one. A press leaves the focus, and so the keyboard, where it is. */
function TerminalKeys(props: { isCtrl: boolean; onCtrl: () => void; press: (key: TerminalKey) => void }) {
  const keepFocus = (event: PointerEvent) => event.preventDefault();
  return (
    <div className="terminal-keys" role="toolbar" aria-label="Keys">
      <button type="button" aria-pressed={props.isCtrl} onPointerDown={keepFocus} onClick={props.onCtrl}>
        Ctrl
      </button>
      {TERMINAL_KEYS.map((key) => (
        <button
          type="button"
          key={key.name}
          aria-label={key.name}
          onPointerDown={keepFocus}
          onClick={() => props.press(key)}
        >
          {key.label}
        </button>
      ))}
    </div>
  );
}

interface Session {
  press: (key: TerminalKey) => void;
  end: () => void;
}

function open(
  place: HTMLElement,
  { url, protocols }: TerminalTicket,
  {
    transform,
    onNotice,
    onEnd,
  }: {
    /** Applied to typed text. */
    transform: (text: string) => string;
    onNotice: (text: string) => void;
    onEnd: (end: TerminalEnd) => void;
  },
): Session {
  giveStylesNonce();
  const terminal = new Terminal({
    theme: THEME,
    fontFamily: 'ui-monospace, SFMono-Regular, Menlo, Consolas, monospace',
    fontSize: 13,
    scrollback: 10_000,
    cursorBlink: !matchMedia('(prefers-reduced-motion: reduce)').matches,
  });
  const fit = new FitAddon();
  terminal.loadAddon(fit);
  terminal.open(place);
  const connection = new TerminalConnection(new WebSocket(url, protocols), {
    onOutput: (bytes, done) => terminal.write(bytes, done),
    onNotice,
    onEnd: (end) => {
      terminal.options.cursorBlink = false;
      terminal.options.disableStdin = true;
      terminal.write(`\r\n\x1b[3m${endText(end)}\x1b[0m\r\n`);
      onEnd(end);
    },
  });
  terminal.attachCustomKeyEventHandler((event) => !isCopy(event, terminal));
  terminal.onData((text) => connection.write(transform(text)));
  terminal.onBinary((text) => connection.write(text));
  terminal.onResize(({ cols, rows }) => connection.resize({ columns: cols, rows }));
  const watch = new ResizeObserver(() => fit.fit());
  watch.observe(place);
  fit.fit();
  connection.resize({ columns: terminal.cols, rows: terminal.rows });
  terminal.focus();
  return {
    press: (key) => {
      // As if it was typed: an ended session takes nothing.
      if (!terminal.options.disableStdin) connection.write(key.codeOf(terminal.modes.applicationCursorKeysMode));
      terminal.focus();
    },
    end: () => {
      watch.disconnect();
      connection.close();
      terminal.dispose();
    },
  };
}

/** Ctrl-Shift-C copies the selection, as in other terminals; ⌘C does by itself. Paste is the browser's own. */
function isCopy(event: KeyboardEvent, terminal: Terminal): boolean {
  const isWanted = event.type === 'keydown' && event.ctrlKey && event.shiftKey && event.code === 'KeyC';
  if (!isWanted || !terminal.hasSelection()) return false;
  event.preventDefault();
  void navigator.clipboard.writeText(terminal.getSelection());
  return true;
}

let isDone = false;

/**
 * Gives every style element that scripts create the page's nonce, which its policy asks for: xterm.js creates some, and takes no
 * nonce.
 */
function giveStylesNonce(): void {
  if (isDone) return;
  isDone = true;
  const create = document.createElement.bind(document) as typeof document.createElement;
  document.createElement = (name: string, options?: ElementCreationOptions) => {
    const element = create(name, options);
    if (element instanceof HTMLStyleElement) element.nonce = getNonce() ?? '';
    return element;
  };
}
