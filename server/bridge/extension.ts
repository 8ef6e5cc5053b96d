/**
 * Loaded into Pi with `-e`. What the RPC protocol cannot do from outside, it does from inside:
 * stop one command of the agent, send a failed request again, tell the effective settings.
 *
 * One file without imports of ours, because a Pi on another machine gets it as text. It is told
 * what to do by the slash command `/holdfast WORD [ARGUMENT]`, which Pi runs at once, even in
 * mid-run, and which leaves nothing in the conversation. It speaks by a status of that name.
 */
import { randomUUID } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { isContextOverflow, isRetryableAssistantError } from '@earendil-works/pi-ai';
import { createBashToolDefinition } from '@earendil-works/pi-coding-agent';
import type { ExtensionAPI, ExtensionContext } from '@earendil-works/pi-coding-agent';

/** What the extension tells the bridge when a session starts. */
export interface Report {
	/** `retry.enabled` and its companions as Pi sees them, user and project settings merged. */
	retry: { enabled?: boolean; maxRetries?: number; baseDelayMs?: number };
	/** False when another extension brings its own `bash`, which is then left alone. */
	stopsCommands: boolean;
}

/** Whether Pi would retry the answer that has just failed. */
export interface Judgement {
	retryable: boolean;
}

export const NAME = 'holdfast';
export const RETRY_MESSAGE = 'holdfast-retry';
/** Carried by every process of a command, so that all of them can be found. */
const MARK = 'HOLDFAST_COMMAND';

export default function holdfast(pi: ExtensionAPI) {
	const running = new Map<string, AbortController>();
	/** Between two requests of a run: the only time at which "Retry now" means anything. */
	let between = false;
	let continueNext = false;

	const demo = process.env['HOLDFAST_DEMO_URL'];
	if (demo) registerDemo(pi, demo);

	// Comes after every extension's `session_start`, in which some register their tools. Of two
	// tools of one name Pi takes that of the extension loaded first, and that is us.
	pi.on('resources_discover', (_event, ctx) => {
		const stopsCommands = wrapBash(pi, running);
		const report: Report = { retry: pi.getSettings().retry ?? {}, stopsCommands };
		ctx.ui.setStatus(NAME, JSON.stringify(report));
	});

	// A command can be stopped as soon as it is shown, which is before it may run: another
	// extension may ask the person first.
	pi.on('tool_execution_start', ({ toolName, toolCallId }) => {
		if (toolName === 'bash') running.set(toolCallId, new AbortController());
	});
	pi.on('tool_execution_end', ({ toolCallId }) => void running.delete(toolCallId));

	pi.registerCommand(NAME, {
		description: 'Used by Holdfast: stop a command, retry now, try again',
		handler: async (args, ctx: ExtensionContext) => {
			const [, word, toolCallId] = /^(\S*)\s*(.*)$/.exec(args.trim()) ?? [];
			if (word === 'stop') {
				if (!toolCallId) for (const controller of running.values()) controller.abort();
				else running.get(toolCallId)?.abort();
			} else if (word === 'continue') continueNext = between;
			else if (word === 'again') {
				// A prompt may have come first; then this would be one request more in its run.
				if (!ctx.isIdle()) return;
				pi.sendMessage(
					{ customType: RETRY_MESSAGE, content: '', display: false },
					{ triggerTurn: true },
				);
			} else ctx.ui.notify(`/${NAME} is used by Holdfast itself.`, 'info');
		},
	});

	// Pi retries by this judgement, and tells it nobody. Heard before the record of the message.
	pi.on('message_end', ({ message }, ctx) => {
		if (message.role !== 'assistant' || message.stopReason !== 'error') return;
		const retryable =
			isRetryableAssistantError(message) && !isContextOverflow(message, ctx.model?.contextWindow);
		ctx.ui.setStatus(NAME, JSON.stringify({ retryable } satisfies Judgement));
	});

	// "Retry now": the bridge cancels the wait, and this makes Pi go on instead of settling.
	pi.on('agent_before_settle', (event) => {
		if (!continueNext) return;
		continueNext = false;
		return { entries: [...event.entries], continue: true };
	});
	pi.on('agent_end', () => {
		between = true;
	});
	pi.on('agent_start', () => {
		between = continueNext = false;
	});

	// "Try again" needs a message to start a run; the model never sees it.
	pi.on('context', (event) => {
		const messages = event.messages.filter(
			(message) => !(message.role === 'custom' && message.customType === RETRY_MESSAGE),
		);
		if (messages.length < event.messages.length) return { messages };
	});
}

/** Lets each call of Pi's bash tool be stopped by its own abort controller too. */
function wrapBash(pi: ExtensionAPI, running: Map<string, AbortController>): boolean {
	const current = pi.getAllTools().find((tool) => tool.name === 'bash');
	if (current?.sourceInfo.source !== 'builtin') return current === undefined;

	const active = pi.getActiveTools();
	pi.registerTool({
		...createBashToolDefinition(process.cwd()),
		async execute(toolCallId, params, signal, onUpdate, ctx) {
			const settings = pi.getSettings();
			const mark = randomUUID();
			const tool = createBashToolDefinition(ctx.cwd, {
				shellPath: settings.shellPath?.replace(/^~(?=$|\/)/, homedir()),
				commandPrefix: settings.shellCommandPrefix,
				spawnHook: (context) => ({ ...context, env: { ...context.env, [MARK]: mark } }),
			});

			const signals = [signal, running.get(toolCallId)?.signal].filter((one) => one !== undefined);
			const either = AbortSignal.any(signals);
			let killed: Promise<void> | undefined;
			either.addEventListener('abort', () => (killed = killMarked(mark)), { once: true });
			try {
				return await tool.execute(toolCallId, params, either, onUpdate, ctx);
			} finally {
				await killed;
			}
		},
	});
	// Registering a tool switches it on, which is not ours to do.
	pi.setActiveTools(active);
	return true;
}

/**
 * Pi ends the command's process group; a child that left it (`setsid`, a daemon) lives on. Ends
 * those too, by the mark in their environment. Only Linux shows it; elsewhere Pi's way must do.
 */
async function killMarked(mark: string) {
	if (process.platform !== 'linux') return;

	// A process may fork while we look, so look until nothing is left.
	for (let round = 0; round < 5; round++) {
		const pids = marked(mark);
		if (pids.length === 0) return;
		for (const pid of pids) {
			try {
				process.kill(pid, 'SIGKILL');
			} catch {
				// Ended by itself since we looked.
			}
		}
		await new Promise((resolve) => setTimeout(resolve, 20));
	}
}

function marked(mark: string): number[] {
	const wanted = `${MARK}=${mark}`;
	return readdirSync('/proc')
		.filter((name) => /^\d+$/.test(name))
		.map(Number)
		.filter((pid) => {
			try {
				return readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0').includes(wanted);
			} catch {
				// Another user's process, or one that has just ended.
				return false;
			}
		});
}

/** Offers the scripted provider of `server/demo` as a model, in this process only. */
function registerDemo(pi: ExtensionAPI, baseUrl: string) {
	pi.registerProvider('holdfast-demo', {
		name: 'Holdfast demo',
		baseUrl,
		apiKey: 'demo',
		api: 'openai-completions',
		models: [
			{
				id: 'demo',
				name: 'Demo (scripted, no model)',
				reasoning: false,
				input: ['text'],
				cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 },
				contextWindow: 128_000,
				maxTokens: 16_384,
			},
		],
	});
	pi.on('before_provider_headers', (event, ctx) => {
		if (ctx.model?.provider !== 'holdfast-demo') return;
		event.headers['x-holdfast-session'] = ctx.sessionManager.getSessionId();
	});
}
