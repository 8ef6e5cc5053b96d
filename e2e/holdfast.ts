/** For the browser tests: a real proxy in folders of its own, a real Pi, a scripted provider. */
import { spawn, type ChildProcess } from 'node:child_process';
import { readdirSync, readFileSync, rmSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { test as base, expect, type Locator, type Page } from 'playwright/test';
import { withTicket } from './login.ts';
import { scripted, type Scripted } from '../server/bridge/real-pi.ts';
import type { ModelRequest, Provider, Reply } from '../server/demo/provider.ts';

export { error, QUICK } from '../server/bridge/real-pi.ts';
export { expect };

const MAIN = fileURLToPath(new URL('../server/main.ts', import.meta.url));

export interface Holdfast {
	url: string;
	provider: Provider;
	settingsFile: string;
	/** An address of it, for a browser that is not logged in yet: by default the one it printed. */
	address(url?: string): string;
	/** Ends the proxy with SIGTERM and starts it again on the same port. */
	restart(...flags: string[]): Promise<void>;
	/** Ends the proxy with SIGKILL. */
	kill(): Promise<void>;
	/** Starts the proxy, which has ended, again on the same port. */
	again(...flags: string[]): Promise<void>;
	proxy: ChildProcess;
	/** In which it was started. */
	env: NodeJS.ProcessEnv;
	stderr(): string;
}

interface Fixtures {
	/** Starts Holdfast with a model that answers as `play` says; ended after the test. */
	start: (
		play: (request: ModelRequest) => Reply,
		/** `models: false` leaves Pi without any provider. */
		options?: { settings?: object; flags?: string[]; models?: boolean },
	) => Promise<Holdfast>;
	/** What a person sees and uses, by role and name. */
	ui: Ui;
}

export const test = base.extend<Fixtures>({
	start: async ({ page: _page }, use) => {
		const folders: Scripted[] = [];
		const running: Holdfast[] = [];
		await use(async (play, { settings = {}, flags = [], models = true } = {}) => {
			const folder = await scripted(play, settings);
			if (!models) rmSync(`${folder.agentDir}/models.json`);
			folders.push(folder);
			const holdfast = await startProxy(folder, flags);
			running.push(holdfast);
			return holdfast;
		});
		for (const { proxy } of running) await end(proxy);
		for (const folder of folders) await folder.remove();
	},
	ui: async ({ page }, use) => {
		const violations: string[] = [];
		page.on('console', (message) => {
			if (/Content.Security.Policy|Trusted ?Type/i.test(message.text()))
				violations.push(message.text());
		});
		page.on('pageerror', (thrown) => violations.push(thrown.message));
		await use(new Ui(page));
		expect(violations).toEqual([]);
	},
});

/** Starts the proxy on a free port; `env` comes on top of that of the folder. */
export async function startProxy(
	folder: Pick<Scripted, 'provider' | 'env' | 'agentDir' | 'cwd'>,
	flags: string[],
	env: NodeJS.ProcessEnv = {},
): Promise<Holdfast> {
	let stderr = '';
	const launch = (port: string, more: string[] = []) =>
		new Promise<{ proxy: ChildProcess; url: string }>((resolve, reject) => {
			const args = [MAIN, '--port', port, '--no-open', '--cwd', folder.cwd, ...flags, ...more];
			const proxy = spawn(process.execPath, args, {
				env: { ...folder.env, ...env },
				stdio: ['ignore', 'pipe', 'pipe'],
			});
			let stdout = '';
			proxy.stdout.on('data', (chunk: Buffer) => {
				stdout += chunk.toString();
				const url = /^Holdfast is ready: (\S+)$/m.exec(stdout)?.[1];
				if (url) resolve({ proxy, url });
			});
			proxy.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()));
			proxy.on('exit', (code) => reject(new Error(`The proxy ended with ${code}: ${stderr}`)));
		});

	const first = await launch('0');
	const holdfast: Holdfast = {
		...first,
		provider: folder.provider,
		settingsFile: `${folder.agentDir}/settings.json`,
		env: { ...folder.env, ...env },
		stderr: () => stderr,
		address: (url = holdfast.url) => withTicket(url, holdfast.env),
		kill: () => end(holdfast.proxy, 'SIGKILL'),
		async restart(...more) {
			await end(holdfast.proxy);
			await holdfast.again(...more);
		},
		async again(...more) {
			Object.assign(holdfast, await launch(new URL(holdfast.url).port, more));
		},
	};
	return holdfast;
}

/** Ends the proxy, unless it has ended, and waits for that. */
export async function end(proxy: ChildProcess, signal: NodeJS.Signals = 'SIGTERM') {
	if (proxy.exitCode !== null || proxy.signalCode !== null) return;
	const exited = new Promise((resolve) => proxy.once('exit', resolve));
	proxy.kill(signal);
	await exited;
}

export class Ui {
	page: Page;
	message: Locator;
	progress: Locator;
	log: Locator;
	answers: Locator;
	prompts: Locator;
	commands: Locator;
	autoRetry: Locator;

	constructor(page: Page) {
		this.page = page;
		this.message = page.getByRole('textbox', { name: 'Message' });
		this.progress = page.getByRole('progressbar', { name: 'Retry' });
		this.log = page.getByRole('log');
		this.answers = this.log.locator('[data-role=assistant]');
		this.prompts = this.log.locator('[data-role=user]');
		this.commands = this.log.locator('[data-role=tool]');
		this.autoRetry = page.getByRole('switch', { name: 'Retry automatically' });
	}

	button(name: string) {
		return this.page.getByRole('button', { name, exact: true });
	}

	async send(text: string) {
		await this.message.fill(text);
		await this.button('Send').click();
	}

	/** Pi has come to rest: nothing to stop, no card. */
	async rested() {
		await expect(this.button('Stop')).toHaveCount(0);
	}
}

/** The processes whose command line holds the text. */
export function processes(text: string): number[] {
	return readdirSync('/proc')
		.filter((name) => /^\d+$/.test(name) && name !== String(process.pid))
		.filter((pid) => {
			try {
				return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ').includes(text);
			} catch {
				// It has ended since it was listed.
				return false;
			}
		})
		.map(Number);
}

/** A tool call as the scripted model makes it. */
export const bash = (command: string) => ({
	toolCall: { name: 'bash', arguments: { command } },
});

/** Whether the model is asked for the first time since the person's last message. */
export const firstTurn = ({ messages }: ModelRequest) => messages.at(-1)?.role === 'user';
