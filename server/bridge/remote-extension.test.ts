import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { ownPi } from './pi-command.ts';
import { realPi } from './real-pi.ts';
import { EXTENSION } from './remote-extension.ts';

test('a Pi that does not see our files is given the extension, and stops a command with it', async () => {
	const { command, args } = ownPi();
	const cache = mkdtempSync(join(tmpdir(), 'holdfast-cache-'));
	// Like another machine: in a file system of its own, the folder of our extension is empty.
	const hidden = `mount -t tmpfs none '${dirname(EXTENSION)}' && exec "$0" "$@"`;
	const elsewhere = {
		command: 'env',
		args: [
			`XDG_CACHE_HOME=${cache}`,
			'unshare',
			...(process.getuid?.() === 0 ? ['-m'] : ['-rm']),
			'sh',
			'-c',
			hidden,
			command,
			...args,
		],
	};

	await using pi = await realPi(
		({ messages }) =>
			messages.at(-1)!.role === 'user'
				? [{ toolCall: { name: 'bash', arguments: { command: 'echo begun; sleep 303' } } }]
				: [{ text: 'Stopped over there.' }],
		{},
		{ pi: elsewhere },
	);
	expect(readdirSync(join(cache, 'holdfast'))).toEqual([
		expect.stringMatching(/^extension-[0-9a-f]{16}\.ts$/),
	]);
	expect(pi.agent.extension).toBe(
		join(cache, 'holdfast', readdirSync(join(cache, 'holdfast'))[0]!),
	);

	const run = pi.run('Go.');
	await pi.until('tool_update', ({ text }) => text.includes('begun'));
	await pi.agent.abortBash();
	expect((await run).find((event) => event.type === 'tool_end')).toMatchObject({
		outcome: 'stopped',
	});
	rmSync(cache, { recursive: true });
});
