import { Kbd, UnstyledButton } from '@mantine/core';
import { useHotkeys } from '@mantine/hooks';
import { IconSearch } from '@tabler/icons-react';
import { Component, type ReactNode, Suspense, useState } from 'react';
import { lazyPart } from '../ui/lazy-part.ts';
import { notifyError } from '../ui/notify.ts';

const Palette = lazyPart(() => import('./palette/palette.tsx'), 'Palette');
const SHORTCUT = /Mac|iPhone|iPad/.test(navigator.platform) ? '⌘K' : 'Ctrl K';

/** Opens the command palette, also by its shortcut from anywhere. */
export function PaletteButton() {
  const [isOpen, setOpen] = useState(false);
  // An empty list: the shortcut works in inputs as well.
  useHotkeys([['mod+K', () => setOpen((now) => !now)]], []);
  function fail(error: unknown) {
    setOpen(false);
    notifyError(error);
  }
  return (
    <>
      <UnstyledButton className="palette-button" onClick={() => setOpen(true)}>
        <IconSearch size={16} stroke={1.8} aria-hidden />
        <span className="palette-word">Search</span>
        <Kbd size="xs" visibleFrom="sm" className="for-keyboards" aria-hidden>
          {SHORTCUT}
        </Kbd>
      </UnstyledButton>
      {isOpen && (
        <ErrorGuard onError={fail}>
          <Suspense>
            <Palette onClose={() => setOpen(false)} />
          </Suspense>
        </ErrorGuard>
      )}
    </>
  );
}

interface Props {
  /** Called with what was thrown; the children are gone then. */
  onError: (error: unknown) => void;
  children: ReactNode;
}

/** Keeps an error of something beside the pages from taking the whole console with it. */
class ErrorGuard extends Component<Props, { hasFailed: boolean }> {
  override state = { hasFailed: false };

  static getDerivedStateFromError() {
    return { hasFailed: true };
  }

  override componentDidCatch(error: unknown) {
    this.props.onError(error);
  }

  override render() {
    return this.state.hasFailed ? null : this.props.children;
  }
}
