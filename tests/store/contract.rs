//! The list of the suite. `store_contract!(path)` turns every line into a test; `path` is a function that
//! returns a new empty database; attributes before it apply to every test.

macro_rules! store_contract {
    ($(#[$attribute:meta])* $new:path) => {
        store_contract! { $(#[$attribute])* $new =>
            records: a_record_comes_back_as_it_went_in
            records: texts_of_every_kind_come_back_whole
            records: rules_that_came_with_the_request_are_kept_in_place_of_a_version
            records: the_same_exchange_and_stage_is_kept_once_with_the_first_answer
            records: records_without_an_exchange_and_of_other_applications_stand_alone
            records: many_at_once_are_all_kept_and_duplicates_among_them_once
            records: a_record_of_an_unknown_application_costs_only_itself
            records: an_identifier_that_is_there_already_costs_only_itself
            records: pages_hold_their_place_while_records_come_in
            records: a_whole_page_is_the_page_with_its_texts
            records: a_whole_page_of_large_records_is_short_and_goes_on
            records: a_page_of_records_with_long_ids_is_short_and_goes_on
            records: a_message_of_a_megabyte_comes_back
            sharing: two_stores_keep_an_exchange_once
            sharing: what_was_acknowledged_is_there_after_opening_again
            sharing: a_closed_store_says_so
            sharing: whoever_waits_is_told_of_a_change_made_here
            sharing: whoever_waits_is_told_of_a_change_made_by_another_store
            filters: every_condition_and_every_pair_finds_what_it_says
            filters: a_text_is_found_in_any_letter_case_and_has_no_special_characters
            filters: a_text_is_looked_for_in_what_was_kept
            filters: a_rare_text_is_reached_by_short_pages
            findings: a_flagged_record_is_an_open_finding_and_a_clean_one_is_none
            findings: findings_that_are_alike_count_as_one
            findings: conditions_narrow_the_queue
            findings: a_decision_stands_in_the_history_and_in_the_audit_log
            findings: what_was_decided_is_read_newest_first
            findings: a_finding_goes_with_its_record_and_its_history_with_it
            findings: those_of_a_removed_application_are_not_shown
            sessions: records_of_a_session_are_put_together
            sessions: equal_names_of_two_applications_are_two_sessions
            sessions: the_time_of_the_latest_record_and_what_was_flagged_narrow_them
            sessions: pages_go_from_the_latest_to_the_oldest_also_between_equal_times
            statistics: days_end_at_midnight_and_stages_stand_apart
            statistics: everything_is_counted_and_a_duplicate_once
            statistics: pages_follow_each_other_without_a_gap
            statistics: names_without_end_are_counted_as_one_kind
            statistics: a_span_and_an_application_narrow_them
            costs: a_records_cost_comes_back_as_it_went_in
            costs: sums_are_exact_and_unpriced_calls_stand_apart
            costs: a_sum_may_be_larger_than_any_record
            costs: a_sum_beyond_a_column_is_no_error
            costs: groups_and_conditions_narrow_the_sums
            costs: a_call_counts_under_the_names_that_its_sums_have
            costs: a_repeated_record_is_counted_once
            costs: an_erased_user_leaves_the_sums_without_a_name
            costs: users_come_page_by_page_each_once
            costs: sums_outlive_records_and_those_of_users_end
            costs: a_run_deletes_old_sums_in_steps_until_none_is_left
            user_days: users_are_summed_up_and_compared_with_the_days_before
            user_days: users_are_ordered_and_paged_by_what_is_asked_for
            user_days: a_long_name_of_a_user_counts_as_other
            user_days: users_without_end_count_as_one
            user_days: a_repeated_record_counts_once_for_its_user
            user_days: sums_of_users_go_with_an_erasure_and_after_their_time
            user_days: nothing_of_a_removed_applications_users_is_shown
            spending: the_last_minutes_are_summed_up_from_their_records
            spending: of_many_users_only_those_who_have_spent_most_leave_the_store
            retention: by_days_the_oldest_go_and_the_border_stays
            retention: by_rows_the_newest_stay
            retention: by_bytes_the_newest_stay
            retention: of_one_application_leaves_the_others
            retention: many_go_in_steps_and_statistics_stay
            retention: a_flood_of_one_application_removes_no_record_of_another
            retention: without_limits_nothing_goes
            removed: nothing_of_a_removed_application_is_shown
            removed: its_records_go_with_the_next_housekeeping
            removed: its_records_take_no_part_of_a_limit
            removed: an_exchange_of_it_is_refused
            applications: one_comes_back_as_it_was_added
            applications: pages_go_in_the_order_they_were_made
            applications: names_are_found_in_any_letter_case
            applications: a_whole_name_is_found_behind_any_number_that_hold_it
            applications: names_of_many_come_at_once
            applications: a_change_keeps_the_version_before_it
            applications: a_lost_update_is_refused
            applications: of_many_changes_at_once_one_is_made
            applications: versions_come_by_page_newest_first
            applications: earlier_versions_beyond_the_limits_go_oldest_first
            applications: a_change_sets_and_takes_away_the_policy
            tokens: one_comes_back_by_its_hash_only_and_is_not_replaced
            tokens: a_change_leaves_what_it_does_not_name
            tokens: a_revoked_one_stays_so
            tokens: one_that_is_over_has_no_successor_and_none_lives_longer_for_one
            tokens: pages_go_from_new_to_old
            tokens: a_use_is_noted_and_never_goes_back
            traffic: hours_are_counted_for_each_application_and_for_all
            traffic: hours_beyond_a_month_are_forgotten_and_records_stay
            traffic: a_store_says_what_it_is
            traffic: gateways_come_with_their_latest_record_first
            audit: lines_come_back_newest_first
            audit: an_application_and_an_action_narrow_them
            audit: times_and_numbers_narrow_them
            audited: a_change_is_kept_with_its_line_and_not_without_it
            audited: a_change_that_is_none_leaves_no_line
            audited: the_line_of_an_erasure_names_the_tombstone_in_force
            accounts: an_account_comes_back_by_name_and_identifier
            accounts: accounts_come_by_name
            accounts: an_account_may_have_every_role
            accounts: an_accounts_change_leaves_what_it_does_not_name
            accounts: a_link_is_taken_once_and_in_time
            accounts: a_password_and_disabling_end_the_links
            accounts: a_password_that_was_replaced_begins_no_sign_in
            accounts: sign_ins_begin_are_seen_and_end
            accounts: an_account_goes_with_its_application
            second_factors: one_is_replaced_only_where_it_is_still_there
            second_factors: a_begun_sign_in_is_taken_once_in_time_and_for_the_same_password
            second_factors: a_new_password_and_disabling_end_begun_sign_ins
            second_factors: sign_ins_are_listed_with_what_they_noted_and_ended
            alerts: rules_and_channels_come_back_and_are_replaced_and_removed
            alerts: of_one_group_one_alert_is_open_and_a_look_is_whole_or_nothing
            alerts: an_alert_is_closed_once_and_muted_while_it_fires
            alerts: a_message_is_taken_by_one_server_until_its_lease_ends
            alerts: one_server_looks_at_the_rules_at_a_time
            alerts: what_names_an_erased_user_goes_and_old_alerts_too
            alerts: alerts_go_with_their_application_and_owners_of_records_are_counted
            fleet: the_latest_report_of_each_gateway_is_there_for_all
            fleet: wrong_passwords_are_counted_by_all_together
            fleet: of_attempts_at_once_no_more_are_let_through_than_may
            fleet: wrong_passwords_are_forgotten_by_age_and_number
            fleet: a_state_is_taken_once_by_all_together
            siem: what_is_written_waits_for_each_destination_that_gets_it
            siem: one_server_at_a_time_sends
            siem: beyond_the_limit_the_oldest_go
            siem: without_a_destination_nothing_waits
            policies: one_is_set_replaced_and_taken_away
            policies: every_change_counts
            policies: every_word_of_a_policy_can_be_stored
            policies: states_of_budgets_are_published_again_and_again
            policies: the_program_and_the_store_agree_on_what_a_policy_is
            attachments: files_come_back_as_they_were_attached
            attachments: one_file_of_one_record_is_one_link
            attachments: the_same_bytes_keep_every_name_and_count_once
            attachments: bytes_without_a_link_are_told_once_the_last_record_is_gone
            attachments: bytes_that_are_being_removed_are_claimed_anew
            attachments: the_bytes_of_files_count_for_retention
            attachments: a_record_has_a_bounded_number_of_files
            waiting: a_file_waits_for_its_record_and_becomes_one_of_it
            waiting: only_the_record_of_its_exchange_application_and_stage_gets_it
            waiting: a_file_of_an_unknown_application_is_refused
            waiting: a_file_and_its_record_at_once_find_each_other
            waiting: no_more_wait_than_may
            waiting: no_more_wait_than_may_of_many_at_once
            waiting: what_waited_for_too_long_goes
            waiting: the_files_of_an_erased_user_go_with_the_late_record
            waiting: they_go_with_their_application
            exchanges: a_tool_call_comes_back_beside_its_messages
            exchanges: a_line_of_a_list_has_both_messages_of_its_exchange
            exchanges: a_part_of_a_tool_call_is_kept_once
            exchanges: tool_calls_of_a_removed_user_go_with_the_exchange
            erasure: the_users_records_and_files_go_and_nobody_elses
            erasure: a_session_of_several_loses_the_name
            erasure: a_late_record_is_refused_and_costs_only_itself
            erasure: an_erasure_of_one_application_leaves_the_others
            erasure: many_records_go_in_steps
            erasure: what_an_exchange_has_without_a_name_goes_with_the_refused_message
            erasure: an_exchange_of_an_erased_user_takes_nothing_without_a_name
            chain: numbers_in_any_order_are_put_together_and_a_second_delivery_is_none
            chain: many_at_once_from_two_stores_are_one_run
            chain: a_number_of_two_records_and_a_wrong_link_show
            chain: a_cut_is_kept_and_a_filter_narrows
            chain: a_record_that_is_there_under_another_number_is_not_missing
            chain: a_numbered_record_under_a_taken_id_is_stored_beside_it_and_once
            chain: a_record_that_comes_again_under_other_rules_is_no_other_one
            chain: a_number_that_somebody_used_for_a_text_of_his_own_shows
            chain: of_many_at_once_under_taken_ids_no_numbered_one_is_lost
            chain: removed_records_stay_known_as_stubs
            saved: a_shared_filter_is_seen_by_its_owners_tenant_alone
            saved: a_filter_of_the_same_name_is_replaced_and_one_is_removed
            saved: an_identity_has_one_account_which_it_keeps
            saved: of_many_identities_at_once_one_gets_the_account
            found_values: records_are_found_by_their_values_newest_first
            found_values: values_of_many_records_at_once_are_each_its_own
            found_values: the_records_with_the_same_values_are_counted_by_type
            found_values: values_go_with_their_records
            found_values: a_repeated_record_adds_no_values
            found_values: a_new_key_comes_before_the_others_and_four_are_kept
            found_values: values_of_a_removed_application_are_not_found
        }
    };
    ($(#[$attribute:meta])* $new:path => $($module:ident: $name:ident)+) => {
        store_contract! { @tests [$(#[$attribute])*] $new => $($module: $name)+ }
    };
    (@tests $attributes:tt $new:path => $($module:ident: $name:ident)+) => {
        $(store_contract! { @test $attributes $new => $module: $name })+
    };
    (@test [$(#[$attribute:meta])*] $new:path => $module:ident: $name:ident) => {
        #[test]
        $(#[$attribute])*
        fn $name() {
            support::bed::run($new(), async |bed| $crate::$module::$name(bed).await);
        }
    };
}
