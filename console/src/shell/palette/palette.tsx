import { Modal, TextInput } from '@mantine/core';
import {
  type Icon,
  IconBolt,
  IconBox,
  IconBrain,
  IconBrandDocker,
  IconDatabase,
  IconFileText,
  IconHammer,
  IconKey,
  IconLock,
  IconSearch,
  IconServerBolt,
  IconTemplate,
  IconTopologyRing3,
  IconUser,
  IconUsersGroup,
} from '@tabler/icons-react';
import { type KeyboardEvent, useDeferredValue, useEffect, useMemo, useState } from 'react';
import { useNavigate } from 'react-router';
import { Name } from '../../ui/text/record-name.tsx';
import { usePaletteActions } from './palette-actions.ts';
import { type PaletteItem, type PaletteKind, searchPalette } from './palette-items.ts';
import { usePaletteRecords } from './palette-records.ts';
import { useFollowUps } from './use-follow-ups.ts';

const ICONS: Record<PaletteKind, Icon> = {
  Page: IconFileText,
  Action: IconBolt,
  Endpoint: IconServerBolt,
  Pod: IconBox,
  Cluster: IconTopologyRing3,
  Build: IconHammer,
  Model: IconBrain,
  Template: IconTemplate,
  Secret: IconLock,
  Volume: IconDatabase,
  Registry: IconBrandDocker,
  User: IconUser,
  Team: IconUsersGroup,
  Key: IconKey,
};

/** Goes anywhere and does anything by name, with the keyboard alone. Mounted while it is open. */
export function Palette({ onClose }: { onClose: () => void }) {
  return (
    <Modal.Root opened onClose={onClose} size={620} yOffset="12vh" transitionProps={{ duration: 0 }}>
      <Modal.Overlay backgroundOpacity={0.35} />
      <Modal.Content aria-label="Command palette" radius="lg" className="palette">
        <PaletteSearch onClose={onClose} />
      </Modal.Content>
    </Modal.Root>
  );
}

function PaletteSearch({ onClose }: { onClose: () => void }) {
  const [query, setQuery] = useState('');
  const [selected, setSelected] = useState(0);
  const navigate = useNavigate();
  const actions = usePaletteActions();
  const { items: records, isLoading } = usePaletteRecords();
  const followUps = useFollowUps();
  const wanted = useDeferredValue(query);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the actions do the same at each rendering
  const found = useMemo(
    () => searchPalette([...actions, ...records], wanted, followUps),
    [actions.length, records, wanted],
  );

  function choose(item: PaletteItem | undefined) {
    if (!item) return;
    onClose();
    if (item.to !== undefined) navigate(item.to);
    item.run?.();
  }
  function onKeyDown(event: KeyboardEvent) {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step !== undefined) {
      event.preventDefault();
      setSelected((now) => (now + step + found.length) % Math.max(1, found.length));
    } else if (event.key === 'Enter' && !event.nativeEvent.isComposing) {
      event.preventDefault();
      // The results of what is typed, even if they are not rendered yet.
      choose(query === wanted ? found[selected] : searchPalette([...actions, ...records], query, followUps)[0]);
    }
  }
  return (
    <>
      <TextInput
        data-autofocus
        variant="unstyled"
        className="palette-input"
        size="md"
        leftSection={<IconSearch size={18} aria-hidden />}
        placeholder="Go to or do anything"
        aria-label="Go to or do anything"
        role="combobox"
        aria-expanded
        aria-autocomplete="list"
        aria-controls="palette-list"
        aria-activedescendant={found.length > 0 ? `palette-${selected}` : undefined}
        autoComplete="off"
        spellCheck={false}
        value={query}
        onChange={(event) => {
          setQuery(event.currentTarget.value);
          setSelected(0);
        }}
        onKeyDown={onKeyDown}
      />
      <PaletteList items={found} selected={selected} onSelect={setSelected} onChoose={choose} />
      <div className="palette-foot" role="status">
        {found.length > 0 ? (
          <span className="for-keyboards">↑↓ select · ↵ open · esc close</span>
        ) : isLoading ? (
          'Loading…'
        ) : (
          `Nothing is called “${query}”.`
        )}
      </div>
    </>
  );
}

function PaletteList(props: {
  items: readonly PaletteItem[];
  selected: number;
  onSelect: (index: number) => void;
  onChoose: (item: PaletteItem) => void;
}) {
  const { items, selected, onSelect, onChoose } = props;
  useEffect(() => {
    document.getElementById(`palette-${selected}`)?.scrollIntoView({ block: 'nearest' });
  }, [selected]);
  return (
    <div id="palette-list" role="listbox" aria-label="Results" className="palette-list">
      {items.map((item, index) => {
        const ItemIcon = ICONS[item.kind];
        return (
          // biome-ignore lint/a11y/useKeyWithClickEvents: the input handles the keys
          // biome-ignore lint/a11y/useFocusableInteractive: the focus stays in the input
          <div
            key={item.key}
            id={`palette-${index}`}
            role="option"
            aria-selected={index === selected}
            className="palette-item"
            onClick={() => onChoose(item)}
            onPointerMove={() => index !== selected && onSelect(index)}
          >
            <ItemIcon size={16} stroke={1.6} aria-hidden />
            <span className="palette-label">
              <Name>{item.label}</Name>
            </span>
            <span className="palette-detail">
              <Name>{item.detail ?? ''}</Name>
            </span>
            <span className="palette-kind">{item.kind}</span>
          </div>
        );
      })}
    </div>
  );
}
