/** For tests: a real Pi in folders of its own, against a scripted provider over real HTTP. */
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { startProvider } from '../demo/provider.ts';
import type { ModelRequest, Provider, Reply, Step } from '../demo/provider.ts';
import { createAgent, type Agent, type AgentEvent, type AgentOptions } from './agent.ts';

export interface RealPi extends AsyncDisposable {
	agent: Agent;
	provider: Provider;
	/** Everything the agent said since it was ready. */
	events: AgentEvent[];
	/** Those of one type. */
	seen<T extends AgentEvent['type']>(type: T): Extract<AgentEvent, { type: T }>[];
	cwd: string;
	env: NodeJS.ProcessEnv;
	/** The user's settings file, and its text. */
	settingsFile: string;
	settings(): string;
	/** Waits until an event passes the test, among those so far or to come. */
	until<T extends AgentEvent['type']>(
		type: T,
		test?: (event: Extract<AgentEvent, { type: T }>) => boolean,
	): Promise<Extract<AgentEvent, { type: T }>>;
	/** Sends a prompt and waits for the end of the run; its events. */
	run(text: string): Promise<AgentEvent[]>;
	/** Lets a command of `GATE` end. */
	open(): void;
	/** Waits until so many requests in all have reached the provider; the last of them. */
	requested(count: number): Promise<ModelRequest>;
}

export interface Files {
	/** Files of the project, by path. */
	files?: Record<string, string>;
	/** Source of a Pi extension beside ours. */
	extension?: string;
}

export interface Scripted {
	provider: Provider;
	env: NodeJS.ProcessEnv;
	agentDir: string;
	cwd: string;
	/** The flags that load the extension. */
	flags: string[];
	remove(): Promise<void>;
}

/** Folders with a user's configuration of a real provider, which is scripted. */
export async function scripted(
	play: (request: ModelRequest) => Reply,
	settings: object = {},
	{ files = {}, extension }: Files = {},
): Promise<Scripted> {
	const home = mkdtempSync(join(tmpdir(), 'holdfast-test-'));
	const agentDir = join(home, '.pi/agent');
	const cwd = join(home, 'project');
	mkdirSync(agentDir, { recursive: true });
	mkdirSync(cwd);

	const provider = await startProvider(play);
	const model = { id: 'script', contextWindow: 128_000, maxTokens: 16_384, reasoning: true };
	const scriptedProvider = {
		baseUrl: provider.url,
		api: 'openai-completions',
		apiKey: 'none',
		models: [model],
	};
	writeFileSync(
		join(agentDir, 'models.json'),
		JSON.stringify({ providers: { scripted: scriptedProvider } }),
	);
	// Spaced unlike Pi's own writing, so that any rewriting shows.
	const own = { defaultProvider: 'scripted', defaultModel: 'script', ...settings };
	writeFileSync(join(agentDir, 'settings.json'), JSON.stringify(own, null, 3));

	for (const [path, text] of Object.entries(files)) {
		mkdirSync(dirname(join(cwd, path)), { recursive: true });
		writeFileSync(join(cwd, path), text);
	}
	const extensionFile = join(agentDir, 'extension-of-the-test.ts');
	if (extension !== undefined) writeFileSync(extensionFile, extension);
	const flags = extension === undefined ? [] : ['-e', extensionFile];

	const env = { ...process.env, HOME: home, PI_CODING_AGENT_DIR: agentDir, PI_OFFLINE: '1' };
	const remove = async () => {
		await provider.close();
		rmSync(home, { recursive: true, force: true });
	};
	return { provider, env, agentDir, cwd, flags, remove };
}

/** Waits for states: `changed` says that something may have, `when` looks again each time. */
export function watch() {
	const watchers = new Set<() => void>();
	return {
		changed() {
			for (const watcher of watchers) watcher();
		},
		when: <T>(look: () => T | undefined) =>
			new Promise<T>((resolve) => {
				const watcher = () => {
					const found = look();
					if (found === undefined) return;
					watchers.delete(watcher);
					resolve(found);
				};
				watchers.add(watcher);
				watcher();
			}),
	};
}

/** Starts a real Pi whose model answers as `play` says. To be used with `await using`. */
export async function realPi(
	play: (request: ModelRequest) => Reply,
	settings: object = {},
	{ files, extension, ...options }: Omit<AgentOptions, 'extension'> & Files = {},
): Promise<RealPi> {
	const { changed, when } = watch();
	const seeing = (request: ModelRequest) => {
		queueMicrotask(changed);
		return play(request);
	};
	const { provider, agentDir, remove, ...folders } = await scripted(seeing, settings, {
		...(files ? { files } : {}),
		...(extension === undefined ? {} : { extension }),
	});
	const { cwd, env } = folders;
	const flags = [...(options.flags ?? []), ...folders.flags];
	const agent = await createAgent({ cwd, env, ...options, flags }).catch(async (failure) => {
		await remove();
		throw failure;
	});

	const events: AgentEvent[] = [];
	agent.subscribe((event) => {
		events.push(event);
		changed();
	});
	const settingsFile = join(agentDir, 'settings.json');
	const seen: RealPi['seen'] = (type) => events.filter((event) => event.type === type) as never;

	return {
		agent,
		provider,
		events,
		seen,
		cwd,
		env,
		settingsFile,
		settings: () => readFileSync(settingsFile, 'utf8'),
		until: (type, test = () => true) => when(() => seen(type).find(test)),
		open: () => writeFileSync(join(cwd, 'open'), ''),
		requested: (count) => when(() => provider.requests[count - 1]),
		async run(text) {
			const during: AgentEvent[] = [];
			for await (const event of agent.prompt(text)) during.push(event);
			return during;
		},
		async [Symbol.asyncDispose]() {
			await agent.close();
			await remove();
		},
	};
}

/** Answers the first request with the first reply and so on; the last reply is repeated. */
export const inTurn = (...replies: Reply[]) => {
	let next = 0;
	return (): Reply => replies[Math.min(next++, replies.length - 1)]!;
};

/** One call of a tool as the whole answer. */
export const call = (name: string, args: Record<string, unknown>): Step[] => [
	{ toolCall: { name, arguments: args } },
];

/** A command that runs until the test opens the gate, by a file of that name in the project. */
export const GATE = call('bash', { command: 'until [ -e open ]; do sleep 0.02; done' });

/** An HTTP error as a provider gives it. */
export const error = (status: number, message = `scripted ${status}`): Reply => ({
	status,
	type:
		status === 429 ? 'rate_limit_error' : status === 401 ? 'authentication_error' : 'server_error',
	message,
});

/** Short waits, for what is not about their length. */
export const QUICK = { retry: { baseDelayMs: 40 } };

/** A duration for `sleep` that no other process has, so that `processes` finds its own only. */
let sleeps = 0;
export const longTime = () => `${3_000 + ++sleeps}.${process.pid}`;

/** The ids of the processes with these words in their command line. */
export const processes = (...words: string[]) =>
	readdirSync('/proc').filter((name) => {
		try {
			return (
				/^\d+$/.test(name) &&
				readFileSync(`/proc/${name}/cmdline`, 'utf8').includes(words.join('\0'))
			);
		} catch {
			// Ended since the folder was read.
			return false;
		}
	});

/** An extension that takes its time with each prompt before Pi begins to work on it. */
export const LOOKING = `export default (pi) => pi.on('input', async (event, ctx) => {
	ctx.ui.notify('looking');
	await new Promise((resolve) => setTimeout(resolve, 300));
});`;
