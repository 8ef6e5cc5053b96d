/** For tests: the real Pi without the bridge, its records as they are. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ModelRequest, Reply } from '../demo/provider.ts';
import { Pi } from './pi.ts';
import { ownPi } from './pi-command.ts';
import { call, scripted, watch } from './real-pi.ts';
import type { Files } from './real-pi.ts';

// What the records hold is what is tested.
// eslint-disable-next-line @typescript-eslint/no-explicit-any
type Raw = Record<string, any> & { type: string };

export const bash = (command: string, more: object = {}) => call('bash', { command, ...more });
export const prompt = (message: string) => ({ type: 'prompt' as const, message });
export const followUp = (message: string) => ({
	...prompt(message),
	streamingBehavior: 'followUp' as const,
});

/** A Pi without our extension. To be used with `await using`. */
export async function rawPi(
	play: (request: ModelRequest) => Reply,
	settings: object = {},
	options: Files & { flags?: string[] } = {},
) {
	const { changed, when } = watch();
	const seeing = (request: ModelRequest) => {
		queueMicrotask(changed);
		return play(request);
	};
	const { provider, cwd, env, agentDir, remove, flags } = await scripted(seeing, settings, options);
	const { command, args } = ownPi();
	const records: Raw[] = [];
	const pi = new Pi(
		{ command, args: [...args, '--mode', 'rpc', ...flags, ...(options.flags ?? [])] },
		{
			cwd,
			env,
			onrecord: (record) => {
				records.push(record as Raw);
				changed();
			},
		},
	);
	await pi.ask({ type: 'get_state' });

	const of = (type: string) => records.filter((record) => record.type === type);
	return {
		pi,
		provider,
		records,
		cwd,
		of,
		settings: () => readFileSync(join(agentDir, 'settings.json'), 'utf8'),
		open: () => writeFileSync(join(cwd, 'open'), ''),
		/** The names of the records so far, without those of growing texts and of the page's decoration. */
		order: () =>
			records.map(({ type }) => type).filter((type) => !/_update$|^extension_ui/.test(type)),
		until: (type: string, test: (record: Raw) => boolean = () => true) =>
			when(() => of(type).find(test)),
		settled: (count: number) => when(() => of('agent_settled')[count - 1]),
		requested: (count: number) => when(() => provider.requests[count - 1]),
		async [Symbol.asyncDispose]() {
			await pi.close();
			await remove();
		},
	};
}
