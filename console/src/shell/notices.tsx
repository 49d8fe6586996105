import { Button } from '@mantine/core';
import { IconPlugConnectedX, IconRefresh } from '@tabler/icons-react';
import { useSyncExternalStore } from 'react';
import { dismissOffer, useOfferedReload } from '../api/page-version.ts';
import { BASE_URL, connection, useReach } from '../api/server-connection.ts';
import { formatDuration } from '../ui/text/format.ts';
import { clock } from '../ui/text/ticking-clock.ts';
import { BudgetNotice } from './budget-notice.tsx';
import { Notice } from './notice.tsx';

/** From here on, the banner says what to do. */
const ADVICE_AFTER_MS = 15_000;

/** What concerns every page: the server is away, or has a newer console, or a budget is used up. */
export function Notices() {
  const reach = useReach();
  const isOffered = useOfferedReload();
  return (
    // Always there: screen readers announce only what appears inside a known region.
    <div role="status">
      {reach.isLost && <LostNotice sinceMs={reach.sinceMs} detail={reach.detail} />}
      {isOffered && !reach.isLost && <VersionNotice />}
      {!reach.isLost && <BudgetNotice />}
    </div>
  );
}

function LostNotice({ sinceMs, detail }: { sinceMs: number; detail: string | null }) {
  return (
    <Notice
      color="orange"
      icon={<IconPlugConnectedX size={18} aria-hidden className="notice-icon" />}
      title={detail === null ? "Can't reach the server." : `The server can't work now: ${detail}`}
      action={
        <Button size="compact-sm" variant="default" onClick={() => connection.tryNow()}>
          Try now
        </Button>
      }
    >
      Reconnecting… <Elapsed sinceMs={sinceMs} />
    </Notice>
  );
}

/** How long it lasts, outside the announcements: a screen reader would read every second. */
function Elapsed({ sinceMs }: { sinceMs: number }) {
  const seconds = useSyncExternalStore(clock.subscribe, () => Math.floor((clock.now() - sinceMs) / 1_000));
  const ms = Math.max(0, seconds * 1_000);
  return (
    <span aria-hidden className="figure">
      {ms < 60_000 ? `${seconds} s` : formatDuration(ms)}. This page shows what was known then.
      {ms >= ADVICE_AFTER_MS && ` Check that the server runs and that this machine reaches ${new URL(BASE_URL).host}.`}
    </span>
  );
}

function VersionNotice() {
  return (
    <Notice
      color="blue"
      icon={<IconRefresh size={18} aria-hidden className="notice-icon" />}
      title="The server has a newer console."
      action={
        <>
          <Button size="compact-sm" variant="default" onClick={() => location.reload()}>
            Reload
          </Button>
          <Button size="compact-sm" variant="subtle" color="gray" onClick={dismissOffer}>
            Later
          </Button>
        </>
      }
    >
      Save what you have typed, then reload the page.
    </Notice>
  );
}
