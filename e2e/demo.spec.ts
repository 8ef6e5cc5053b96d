import AxeBuilder from '@axe-core/playwright';
import { expect, test, type Ui } from './holdfast.ts';

const DEMO = { flags: ['--demo'] };
const never = () => [{ text: 'The configured provider must not be asked in the demo.' }];

const play = async (ui: Ui, name: string) => {
	await ui.page.getByRole('button', { name: new RegExp(`^${name}`) }).click();
};

test('the demo offers its scenes in an empty conversation, and one recovers from a rate limit', async ({
	page,
	start,
	ui,
}) => {
	const { url, provider } = await start(never, DEMO);
	await page.goto(url);
	await expect(page.getByText('This is the demo')).toBeVisible();
	await play(ui, 'recover from a rate limit');
	await expect(ui.progress).toBeVisible();
	await ui.button('Retry now').click();
	await expect(page.getByText('attempt 2 of 3')).toBeVisible();
	await ui.button('Retry now').click();
	await expect(ui.answers).toContainText('That went through on the third try.');
	expect(provider.requests).toHaveLength(0);
});

test('scenes are reached by typing their name: a refused key, a lost connection, a hang', async ({
	page,
	start,
	ui,
}) => {
	const { url } = await start(never, DEMO);
	await page.goto(url);
	await ui.send('a refused key');
	await ui.button('Try again').click();
	await expect(ui.answers.last()).toContainText('The key is accepted now.');

	await ui.send('Connection lost in mid-answer');
	await ui.button('Retry now').click();
	await expect(ui.answers.last()).toContainText('This is the whole answer');

	await ui.send('a provider that hangs');
	await expect(ui.log.getByText('Pi is working')).toBeVisible();
	await ui.button('Stop').click();
	await expect(page.getByText('stopped by you')).toBeVisible();
});

test('the scenes with commands: a long one, and two at once', async ({ page, start, ui }) => {
	const { url } = await start(never, DEMO);
	await page.goto(url);
	await play(ui, 'two commands at once');
	await expect(ui.button('Stop command')).toHaveCount(2);
	await ui.button('Stop command').first().click();
	await expect(ui.button('Stop command')).toHaveCount(1);
	await ui.button('Stop command').click();
	await expect(ui.answers.last()).toContainText('You stopped 2 commands.');

	await ui.send('a long command');
	await expect(ui.commands.last()).toContainText('step 2 of 60');
	await ui.button('Stop command').click();
	await expect(ui.answers.last()).toContainText('You stopped a command.');
});

test('with no provider configured it starts in the demo by itself, and says so', async ({
	page,
	start,
	ui,
}) => {
	const { url, stderr } = await start(never, { models: false });
	await page.goto(url);
	await expect(page.getByText('This is the demo')).toBeVisible();
	await expect.poll(stderr).toContain('No model provider is configured');
	await ui.send('hello');
	await expect(ui.answers).toContainText('a script answers, not a model');
});

for (const scheme of ['light', 'dark'] as const) {
	for (const width of [360, 1600]) {
		test(`no state has an accessibility fault, and none is wider than the page: ${scheme}, ${width} px`, async ({
			page,
			start,
			ui,
		}) => {
			// Six whole analyses of the page, each seconds of work on a busy machine.
			test.slow();
			await page.emulateMedia({ colorScheme: scheme });
			await page.setViewportSize({ width, height: 780 });
			const { url } = await start(never, {
				...DEMO,
				// Outlasts the analysis of the page that shows it.
				settings: { retry: { baseDelayMs: 60_000 } },
			});
			await page.goto(url);
			const faultless = async (state: string) => {
				const { violations } = await new AxeBuilder({ page })
					// An answer's headings are the model's, and begin at any level.
					.disableRules(['heading-order'])
					.analyze();
				const found = violations.flatMap(({ id, nodes }) =>
					nodes.map(({ html }) => `${id}: ${html}`),
				);
				expect(found, state).toEqual([]);
				const { scrollWidth, clientWidth } = await page.evaluate(() => {
					const { scrollWidth, clientWidth } = document.documentElement;
					return { scrollWidth, clientWidth };
				});
				expect(scrollWidth, `${state}: width`).toBeLessThanOrEqual(clientWidth);
			};

			await expect(page.getByText('This is the demo')).toBeVisible();
			await faultless('empty');
			await ui.send('run out of retries');
			await expect(ui.progress).toBeVisible();
			await faultless('waiting');
			await ui.button('Cancel retry').click();
			await expect(page.getByText('Retry cancelled', { exact: true })).toBeVisible();
			await faultless('cancelled');
			await ui.send('two commands at once');
			await expect(ui.commands.first()).toContainText('slow 1 of 40');
			await faultless('running');
			await ui.button('Stop').click();
			await ui.rested();
			await ui.send('a long answer with code and tables');
			await expect(ui.answers.last()).toContainText('and two buttons');
			await faultless('answered');
			await ui.send('a refused key');
			await expect(ui.button('Try again')).toBeVisible();
			await faultless('failed');
		});
	}
}
