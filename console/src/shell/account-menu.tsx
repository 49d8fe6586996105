import { ActionIcon, Group, Text, UnstyledButton, useComputedColorScheme, useMantineColorScheme } from '@mantine/core';
import { IconBook, IconLogout, IconMoon, IconSun, IconUserCircle } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { BASE_URL } from '../api/client.ts';
import { accountQuery } from '../api/queries.ts';
import { signOut } from '../api/sign-in-calls.ts';
import { PopoverMenu } from '../ui/popover-menu.tsx';
import { Name } from '../ui/text/record-name.tsx';
import { visibleText } from '../ui/text/visible-text.ts';

/** The color scheme switch, and the menu of the signed-in account. */
export function AccountMenu() {
  const { setColorScheme } = useMantineColorScheme();
  const scheme = useComputedColorScheme('light');
  const account = useQuery(accountQuery);
  const other = scheme === 'dark' ? 'light' : 'dark';
  const name = account.data?.name ?? '';
  return (
    <Group gap="xs" wrap="nowrap">
      <ActionIcon
        variant="subtle"
        color="gray"
        aria-label={`Switch to ${other} mode`}
        onClick={() => setColorScheme(other)}
      >
        {scheme === 'dark' ? <IconSun size={18} /> : <IconMoon size={18} />}
      </ActionIcon>
      <PopoverMenu
        label={visibleText(`Account ${name}`)}
        place="menu-at-account"
        className="account-button"
        button={
          <>
            <IconUserCircle size={22} stroke={1.6} aria-hidden />
            <Text size="sm" visibleFrom="sm" truncate maw={180}>
              <Name>{name}</Name>
            </Text>
          </>
        }
      >
        <a className="menu-item" href={`${BASE_URL}/docs/`} target="_blank" rel="noreferrer">
          <IconBook size={16} aria-hidden />
          Documentation
        </a>
        <UnstyledButton className="menu-item" onClick={() => void signOut()}>
          <IconLogout size={16} aria-hidden />
          Sign out
        </UnstyledButton>
      </PopoverMenu>
    </Group>
  );
}
