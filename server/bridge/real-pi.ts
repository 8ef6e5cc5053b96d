/** For tests: a real Pi in folders of its own, against a scripted provider over real HTTP. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startProvider, type ModelRequest, type Provider, type Reply } from '../demo/provider.ts';
import { createAgent, type Agent, type AgentEvent, type AgentOptions } from './agent.ts';

export interface RealPi extends AsyncDisposable {
	agent: Agent;
	provider: Provider;
	/** Everything the agent said since it was ready. */
	events: AgentEvent[];
	cwd: string;
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
}

export interface Scripted {
	provider: Provider;
	env: NodeJS.ProcessEnv;
	agentDir: string;
	cwd: string;
	remove(): Promise<void>;
}

/** Folders with a user's configuration of a real provider, which is scripted. */
export async function scripted(
	play: (request: ModelRequest) => Reply,
	settings: object = {},
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

	const env = { ...process.env, HOME: home, PI_CODING_AGENT_DIR: agentDir, PI_OFFLINE: '1' };
	const remove = async () => {
		await provider.close();
		rmSync(home, { recursive: true, force: true });
	};
	return { provider, env, agentDir, cwd, remove };
}

/** Starts a real Pi whose model answers as `play` says. To be used with `await using`. */
export async function realPi(
	play: (request: ModelRequest) => Reply,
	settings: object = {},
	options: AgentOptions = {},
): Promise<RealPi> {
	const { provider, env, agentDir, cwd, remove } = await scripted(play, settings);
	const agent = await createAgent({ cwd, env, ...options });

	const events: AgentEvent[] = [];
	const watchers = new Set<() => void>();
	agent.subscribe((event) => {
		events.push(event);
		for (const watcher of watchers) watcher();
	});
	const settingsFile = join(agentDir, 'settings.json');

	return {
		agent,
		provider,
		events,
		cwd,
		settingsFile,
		settings: () => readFileSync(settingsFile, 'utf8'),
		until: (type, test = () => true) =>
			new Promise((resolve) => {
				let seen = 0;
				const watcher = () => {
					for (const event of events.slice(seen)) {
						if (event.type !== type || !test(event as never)) continue;
						watchers.delete(watcher);
						return resolve(event as never);
					}
					seen = events.length;
				};
				watchers.add(watcher);
				watcher();
			}),
		async run(text) {
			const seen: AgentEvent[] = [];
			for await (const event of agent.prompt(text)) seen.push(event);
			return seen;
		},
		async [Symbol.asyncDispose]() {
			await agent.close();
			await remove();
		},
	};
}

/** An HTTP error as a provider gives it. */
export const error = (status: number, message = `scripted ${status}`): Reply => ({
	status,
	type:
		status === 429 ? 'rate_limit_error' : status === 401 ? 'authentication_error' : 'server_error',
	message,
});

/** Short waits, for what is not about their length. */
export const QUICK = { retry: { baseDelayMs: 40 } };
